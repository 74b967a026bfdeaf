"""Relevance of attention (Chefer, Gur and Wolf, CVPR 2021)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from assay.core.query import Query
from assay.core.setting import model_copy
from assay.kit.attention import attention_and_gradients
from assay.kit.relevance import relevance
from assay.methods._attention import check_start, from_layer, rolled_out, with_identity

COPIES = 4  # memory that rules take, in gradients: measured on vision transformers of 197 positions


@dataclass(frozen=True)
class CheferRelevance:
    """How much of each position reaches the reader through attention that carries relevance for the class.

    Relevance starts as 1 at the target's output and is handed back: linear layers share it among positive
    contributions (LRP with alpha 1), a product of feature maps gives each half, a sum of two gives each a part by the
    size of its share (and keeps the total of every sample), normalisation, softmax and activations hand on what they
    receive, weights and other constants take nothing. A layer is relevance times the explained number's gradient at
    its attention, negative products set to 0, the mean over heads, plus the identity. Layers are multiplied; the answer
    is the reader's row (see attention_rollout for who reads).

    The paper's "transformer attribution". Its authors' program takes the totals of sums over the whole batch, so that
    samples depend on their neighbours; here each has its own, which is what the program gives for one sample. The
    readout changes gradients only. A model that does anything else between attention and output is not applicable.

    Shares of sums near 0 cost float32 half of its digits: a copy of the model computes in float64.
    """

    start: int = 1  # first layer that counts, from 0
    reader: int = 0  # position whose row is read; negative: from the end
    double: bool = True  # compute in float64; false: in the model's own format, faster

    paper: ClassVar[str] = "Chefer, Gur and Wolf, CVPR 2021"
    positive_only: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_start("chefer_relevance", self.start)

    def __call__(self, query: Query) -> Tensor:
        query.require_gradients()
        asked = _doubled(query) if self.double else query
        return rolled_out(asked, self._mixing, self.reader, COPIES).to(query.x.dtype)

    def _mixing(self, query: Query) -> list[Tensor]:
        slopes = [gradient for _, gradient in attention_and_gradients(query.module, query.x, query.target)]
        slopes = from_layer(slopes, self.start)
        found = relevance(query.setting.model, query.x, query.target, self.start)
        pairs = zip(found, slopes, strict=True)
        return [with_identity((part * slope).clamp(min=0).mean(dim=1)) for part, slope in pairs]


def _doubled(query: Query) -> Query:
    model = model_copy(query.setting.model).to(dtype=torch.float64)
    return replace(query, setting=replace(query.setting, model=model), x=query.x.double())
