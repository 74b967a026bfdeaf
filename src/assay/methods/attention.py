"""Attention between positions as an attribution of features: the reader's row, without positions of no feature."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import isqrt
from typing import ClassVar

import torch
from torch import Tensor

from assay.core.errors import NotApplicable, SpecError
from assay.core.map_grid import Cells
from assay.core.query import Query
from assay.core.setting import model_copy
from assay.kit.attention import attention, attention_and_gradients
from assay.kit.backward.chefer import attention_relevance

COPIES = 2  # memory of a sample, in gradients: attention matrices are built, which a model's own attention may avoid
RELEVANCE_COPIES = 4  # the same under the rules of relevance: measured on vision transformers of 197 positions
MOST_EXTRA = 8  # most positions of an image besides patches: class and distillation tokens, registers

Mixing = Callable[[Query], list[Tensor]]  # samples -> for each layer, weights of positions for positions (N, S, S)


def rollout(query: Query, mixing: Mixing, reader: int, copies: int = COPIES) -> Tensor:
    """The reader's row of the product of all layers' matrices, last layer first: one number per feature.

    ``copies``: memory of ``mixing`` for a sample, in gradients.
    """

    def row(block: Query) -> Tensor:
        *earlier, last = mixing(block)
        weights = last[:, checked_reader(last, reader)].unsqueeze(1)
        for layer in reversed(earlier):
            weights = weights @ layer
        return on_features(query, weights.squeeze(1)[:, extra_positions(query, last) :])

    return torch.cat([row(block) for block in query.blocks(copies)])


def from_layer(layers: list[Tensor], start: int) -> list[Tensor]:
    if start >= len(layers):
        raise NotApplicable(f"needs more than {start} layers of attention, and the model has {len(layers)} (see start)")
    return layers[start:]


def with_identity(matrices: Tensor) -> Tensor:
    """Attention plus the skip connection."""
    return matrices + torch.eye(matrices.shape[-1], dtype=matrices.dtype, device=matrices.device)


def checked_reader(matrices: Tensor, reader: int) -> int:
    count = matrices.shape[-1]
    if not -count <= reader < count:
        raise NotApplicable(f"needs a position {reader} to read from, and attention is over {count} positions")
    return reader


def extra_positions(query: Query, matrices: Tensor) -> int:
    """The number of positions, all at the start, that are neither tokens nor patches."""
    shape, count = query.setting.features.shape, matrices.shape[-1]
    if len(shape) == 1:
        if count < shape[0]:
            raise NotApplicable(f"needs a position for each feature: {shape[0]} features, attention over {count}")
        return count - shape[0]
    grids = [(shape[0] // side) * (shape[1] // side) for side in _sides(shape)]
    patches = max((patches for patches in grids if patches <= count), default=0)
    if not 1 <= count - patches <= MOST_EXTRA:
        raise NotApplicable(
            f"needs a class token and square patches: attention over {count} positions does not fit {shape} pixels"
        )
    return count - patches


def on_features(query: Query, values: Tensor) -> Tensor:
    """(N, tokens) unchanged; (N, patches) repeated over the pixels of each patch."""
    shape = query.setting.features.shape
    if len(shape) == 1:
        return values
    side = isqrt(shape[0] * shape[1] // values.shape[1])
    height, width = shape[0] // side, shape[1] // side
    patches = torch.arange(height * width, device=values.device).view(height, width)
    patch = patches.repeat_interleave(side, dim=0).repeat_interleave(side, dim=1)  # of every pixel
    query.remarks.grid = Cells(patch.unsqueeze(0), f"{height}x{width} patches")
    return values[:, patch]


def check_start(method: str, start: int) -> None:
    if start < 0:
        raise SpecError(f"{method}: start={start} is not a layer. Choose 0 for all layers, or 1 to skip the first.")


def _sides(shape: tuple[int, ...]) -> list[int]:
    """Possible sides of a square patch, in pixels."""
    return [side for side in range(1, min(shape) + 1) if shape[0] % side == 0 and shape[1] % side == 0]


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
        return rollout(query, _gradient_mixing, self.reader)


def _gradient_mixing(query: Query) -> list[Tensor]:
    layers = attention_and_gradients(query.module, query.x, query.target)
    return [with_identity((weights * gradient).clamp(min=0).mean(dim=1)) for weights, gradient in layers]


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
        return rollout(precise, self._mixing, self.reader, RELEVANCE_COPIES).to(query.x.dtype)

    def _mixing(self, query: Query) -> list[Tensor]:
        slopes = [gradient for _, gradient in attention_and_gradients(query.module, query.x, query.target)]
        slopes = from_layer(slopes, self.start)
        relevances = attention_relevance(query.setting.model, query.x, query.target, self.start)
        pairs = zip(relevances, slopes, strict=True)
        return [with_identity((share * slope).clamp(min=0).mean(dim=1)) for share, slope in pairs]


def _in_float64(query: Query) -> Query:
    model = model_copy(query.setting.model).to(dtype=torch.float64)
    return replace(query, setting=replace(query.setting, model=model), x=query.x.double())


@dataclass(frozen=True)
class VitGradCam:
    """The reader's attention to patches in the last layer, each head weighted by the mean of its gradient.

    Grad-CAM with heads as channels and patches as pixels: the mean over heads of weight times attention. Each pixel has
    the number of its patch; tokens are treated like patches. IDSDS then scales every map to [0, 1], which does not
    change the order; maps stay raw here. attention_rollout explains the reader.
    """

    relu: bool = True  # keep only what speaks for the class
    reader: int = 0  # position whose row is read; negative: from the end

    paper: ClassVar[str] = "Chefer, Gur and Wolf, CVPR 2021"

    @property
    def positive_only(self) -> bool:
        return self.relu

    def __call__(self, query: Query) -> Tensor:
        query.require_gradients()
        return torch.cat([self._map(block) for block in query.blocks(COPIES)])

    def _map(self, query: Query) -> Tensor:
        layers = attention_and_gradients(query.module, query.x, query.target)
        query.note(f"layer {len(layers)} of {len(layers)} with attention")
        weights, gradient = layers[-1]
        reader, first = checked_reader(weights, self.reader), extra_positions(query, weights)
        maps, gradients = (values[:, :, reader, first:] for values in (weights, gradient))  # (N, heads, patches)
        cam = (gradients.mean(dim=2, keepdim=True) * maps).mean(dim=1)
        return on_features(query, cam.clamp(min=0) if self.relu else cam)
