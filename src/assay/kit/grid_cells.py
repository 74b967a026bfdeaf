"""Cells: the rectangles of a grid over images, the single features of anything else."""

from __future__ import annotations

from math import prod

import torch
from torch import Tensor

from assay.core.errors import NotApplicable
from assay.core.features import Features, Pixels


def feature_cells(features: Features, grid: tuple[int, int]) -> Tensor:
    """The cell (*features) of every feature: 0, 1, ... in reading order."""
    if not isinstance(features, Pixels):
        return torch.arange(prod(features.shape)).view(features.shape)
    if grid[0] > features.height or grid[1] > features.width:
        size = f"{features.height} x {features.width}"
        raise NotApplicable(f"needs a pixel a cell at least: images are {size}, ask for a smaller grid")
    return grid_cells(features.height, features.width, *grid)


def grid_cells(height: int, width: int, rows: int, columns: int) -> Tensor:
    """The cell (height, width) of every pixel: 0, ..., rows * columns - 1 in reading order, each a rectangle."""
    return bands(height, rows)[:, None] * columns + bands(width, columns)


def bands(length: int, parts: int) -> Tensor:
    """The part (length,) of every position when a line is cut into ``parts`` parts.

    Position i is in part ``floor(i * parts / length)``: lengths differ by one at most, longer parts spread evenly.
    """
    if not 1 <= parts <= length:
        raise ValueError(f"{length} positions cannot be cut into {parts} parts")
    return torch.arange(length) * parts // length


def cell_sums(values: Tensor, cells: Tensor) -> Tensor:
    """Sums (B, cells) of ``values`` (B, P) over the cells (P,), in float64."""
    total = values.new_zeros(len(values), int(cells.max()) + 1, dtype=torch.float64)
    return total.index_add_(1, cells, values.double())
