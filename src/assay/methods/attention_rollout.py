"""Attention rollout (Abnar and Zuidema, 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from assay.core.query import Query
from assay.kit.attention import attention
from assay.methods._attention import check_start, from_layer, rollout, with_identity


@dataclass(frozen=True)
class AttentionRollout:
    """How much of each position reaches the reader when attention is followed through all layers.

    A layer's matrix is the mean of its heads plus the identity (the skip connection), with rows scaled to sum 1. The
    matrices are multiplied. The attribution is the reader's row: a token has its own number, a pixel that of its patch.
    It does not depend on the class. As in the paper, all layers count; IDSDS skips the first (``start=1``).

    The reader is the position that the model answers from. Positions that stand for no feature (a class token,
    registers) come first and are left out. A reader that is itself a token is kept, with the large number that skip
    connections give it.
    """

    start: int = 0  # first layer that counts, from 0
    reader: int = 0  # position whose row is read; negative: from the end

    paper: ClassVar[str] = "Abnar and Zuidema, 2020"
    positive_only: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_start("attention_rollout", self.start)

    def __call__(self, query: Query) -> Tensor:
        return rollout(query, self._mixing, self.reader)

    def _mixing(self, query: Query) -> list[Tensor]:
        layers = from_layer(attention(query.setting.model, query.x), self.start)
        matrices = (with_identity(heads.mean(dim=1)) for heads in layers)
        return [matrix / matrix.sum(dim=2, keepdim=True) for matrix in matrices]
