"""Attention weighted by its gradient (Chefer, Gur and Wolf, ICCV 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from assay.core.query import Query
from assay.kit.attention import attention_and_gradients
from assay.methods._attention import rollout, with_identity


@dataclass(frozen=True)
class CheferGradient:
    """How much of each position reaches the reader through attention that speaks for the class.

    R starts as the identity and becomes R + A R in every layer, from the first on. A is the mean over heads of
    attention times the explained number's gradient there, with negative products set to 0. This is the paper's rule for
    self-attention. The attribution is the reader's row; attention_rollout explains the reader.
    """

    reader: int = 0  # position whose row is read; negative: from the end

    paper: ClassVar[str] = "Chefer, Gur and Wolf, ICCV 2021"
    positive_only: ClassVar[bool] = True

    def __call__(self, query: Query) -> Tensor:
        query.require_gradients()
        return rollout(query, _mixing, self.reader)


def _mixing(query: Query) -> list[Tensor]:
    layers = attention_and_gradients(query.module, query.x, query.target)
    return [with_identity((weights * gradient).clamp(min=0).mean(dim=1)) for weights, gradient in layers]
