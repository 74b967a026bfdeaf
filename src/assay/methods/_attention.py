"""Attention between positions as an attribution of features: the reader's row, without positions of no feature."""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt

import torch
from torch import Tensor

from assay.core.errors import NotApplicable, SpecError
from assay.core.query import Query

COPIES = 2  # memory of a sample, in gradients: attention matrices are built, which a model's own attention may avoid
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
    grid: Tensor = values.unflatten(1, (shape[0] // side, shape[1] // side))
    return grid.repeat_interleave(side, dim=1).repeat_interleave(side, dim=2)


def check_start(method: str, start: int) -> None:
    if start < 0:
        raise SpecError(f"{method}: start={start} is not a layer. Choose 0 for all layers, or 1 to skip the first.")


def _sides(shape: tuple[int, ...]) -> list[int]:
    """Possible sides of a square patch, in pixels."""
    return [side for side in range(1, min(shape) + 1) if shape[0] % side == 0 and shape[1] % side == 0]
