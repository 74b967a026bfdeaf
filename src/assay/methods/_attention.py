"""From attention between positions to features: whose row is read, and which positions are tokens or patches."""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt

import torch
from torch import Tensor

from assay.core.errors import NotApplicable, SpecError
from assay.core.query import Query

COPIES = 2  # memory for matrices that a model's own attention need not make, in gradients
MOST_EXTRA = 8  # positions of an image that are no patches: class and distillation tokens, registers

Mixing = Callable[[Query], list[Tensor]]  # some samples -> for each layer, what positions take from positions (N, S, S)


def rolled_out(query: Query, mixing: Mixing, reader: int, copies: int = COPIES) -> Tensor:
    """The reader's row of the product of all layers, the last one first: one number per feature.

    ``copies``: how much more memory ``mixing`` takes than a gradient.
    """

    def row(block: Query) -> Tensor:
        *before, last = mixing(block)
        taken = last[:, position(last, reader)].unsqueeze(1)
        for layer in reversed(before):
            taken = taken @ layer
        return on_features(query, taken.squeeze(1)[:, extra(query, last) :])

    return torch.cat([row(block) for block in query.blocks(copies)])


def from_layer(layers: list[Tensor], start: int) -> list[Tensor]:
    if start >= len(layers):
        raise NotApplicable(f"needs more than {start} layers of attention, and the model has {len(layers)} (see start)")
    return layers[start:]


def with_identity(matrices: Tensor) -> Tensor:
    """What a position takes through attention, and what the skip connection leaves it."""
    return matrices + torch.eye(matrices.shape[-1], dtype=matrices.dtype, device=matrices.device)


def position(matrices: Tensor, reader: int) -> int:
    count = matrices.shape[-1]
    if not -count <= reader < count:
        raise NotApplicable(f"needs a position {reader} to read from, and attention is over {count}")
    return reader


def extra(query: Query, matrices: Tensor) -> int:
    """How many positions, all at the start, are neither tokens nor patches."""
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
    """(N, tokens) as they are; (N, patches) to all pixels of each patch."""
    shape = query.setting.features.shape
    if len(shape) == 1:
        return values
    side = isqrt(shape[0] * shape[1] // values.shape[1])
    grid: Tensor = values.unflatten(1, (shape[0] // side, shape[1] // side))
    return grid.repeat_interleave(side, dim=1).repeat_interleave(side, dim=2)


def check_start(method: str, start: int) -> None:
    if start < 0:
        raise SpecError(f"{method}: start={start} is no layer. Choose 0 for all layers, or 1 to skip the first.")


def _sides(shape: tuple[int, ...]) -> list[int]:
    """Sides that a square patch can have."""
    return [side for side in range(1, min(shape) + 1) if shape[0] % side == 0 and shape[1] % side == 0]
