"""Relevance of attention (Chefer, Gur and Wolf, CVPR 2021)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from assay.core.query import Query
from assay.core.setting import model_copy
from assay.kit.attention import attention_and_gradients
from assay.kit.backward.chefer import attention_relevance
from assay.methods._attention import check_start, from_layer, rollout, with_identity

COPIES = 4  # memory of a sample under the rules, in gradients: measured on vision transformers of 197 positions


@dataclass(frozen=True)
class CheferRelevance:
    """How much of each position reaches the reader through attention that carries relevance for the class.

    Relevance starts as 1 at the target's output and is passed back. Linear layers divide it among positive
    contributions (LRP with alpha 1). A product of feature maps gives each factor half. A sum of two gives each a part
    by the size of its share, and keeps the total of every sample. Normalisation, softmax and activations pass it on
    unchanged; weights and other constants get none. A layer's matrix is relevance times the explained number's gradient
    at its attention, negative products set to 0, the mean over heads, plus the identity. The matrices are multiplied.
    The attribution is the reader's row; attention_rollout explains the reader.

    The paper's "transformer attribution". Its authors' program takes the totals of sums over the whole batch, so that
    samples depend on each other; here each sample has its own, as in the program with a batch of one. The readout
    changes gradients only. A model with any other operation between attention and output is not applicable.

    Shares of sums near 0 cost float32 half of its digits, so a copy of the model computes in float64.
    """

    start: int = 1  # first layer that counts, from 0
    reader: int = 0  # position whose row is read; negative: from the end
    double: bool = True  # compute in float64; False: in the model's own dtype, which is faster

    paper: ClassVar[str] = "Chefer, Gur and Wolf, CVPR 2021"
    positive_only: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_start("chefer_relevance", self.start)

    def __call__(self, query: Query) -> Tensor:
        query.require_gradients()
        precise = _in_float64(query) if self.double else query
        return rollout(precise, self._mixing, self.reader, COPIES).to(query.x.dtype)

    def _mixing(self, query: Query) -> list[Tensor]:
        slopes = [gradient for _, gradient in attention_and_gradients(query.module, query.x, query.target)]
        slopes = from_layer(slopes, self.start)
        relevances = attention_relevance(query.setting.model, query.x, query.target, self.start)
        pairs = zip(relevances, slopes, strict=True)
        return [with_identity((share * slope).clamp(min=0).mean(dim=1)) for share, slope in pairs]


def _in_float64(query: Query) -> Query:
    model = model_copy(query.setting.model).to(dtype=torch.float64)
    return replace(query, setting=replace(query.setting, model=model), x=query.x.double())
