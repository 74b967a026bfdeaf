"""Map grids: what a method's maps are made of, where they are coarser than the features.

A method states the grid of its answer (``query.remarks.grid``), so that its maps are compared with what the best map of
this grid reaches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor
from torch.nn.functional import interpolate


@dataclass(frozen=True, eq=False)
class Cells:
    """One number per cell, of either sign: segments, patches, pixels under the same windows."""

    cells: Tensor  # (B, *features), or (1, *features) for all samples: the cell of every feature, from 0
    name: str = ""  # "segments", as in "the best map of its segments"

    def fits(self, maps: Tensor) -> bool:
        return len(self.cells) in (1, len(maps)) and self.cells.shape[1:] == maps.shape[1:]

    def tensors(self) -> dict[str, Tensor]:
        """The tensors to be stored."""
        return {"grid.cells": self.cells}


@dataclass(frozen=True, eq=False)
class Nodes:
    """Numbers c >= 0 at the nodes of a layer, enlarged to ``down @ c @ across.T``.

    Weights are not negative and add up to 1 at each pixel. Numbers of either sign make no such grid: where they cancel
    between nodes, the positive part of a map has edges as sharp as pixels.
    """

    down: Tensor  # (height, nodes) float64: the weight of every node at every pixel of the axis
    across: Tensor  # (width, nodes)
    name: str = ""  # "3x3 grid"

    @classmethod
    def bilinear(cls, nodes: Sequence[int], pixels: Sequence[int]) -> Nodes:
        """A layer of so many nodes, down and across, enlarged to so many pixels."""
        down, across = map(_axis_weights, nodes, pixels)
        return cls(down, across, f"{nodes[0]}x{nodes[1]} grid")

    def fits(self, maps: Tensor) -> bool:
        return (len(self.down), len(self.across)) == tuple(maps.shape[1:])

    def tensors(self) -> dict[str, Tensor]:
        """The tensors to be stored."""
        return {"grid.down": self.down, "grid.across": self.across}


def _axis_weights(nodes: int, pixels: int) -> Tensor:
    """(pixels, nodes): a line is enlarged as an image is along one axis."""
    lines = torch.eye(nodes, dtype=torch.float64).unsqueeze(0)
    return interpolate(lines, pixels, mode="linear", align_corners=False)[0].T


MapGrid: TypeAlias = Cells | Nodes


def read_grid(tensors: Mapping[str, Tensor]) -> MapGrid | None:
    """The grid among stored tensors, without its name."""
    if "grid.cells" in tensors:
        return Cells(tensors["grid.cells"])
    return Nodes(tensors["grid.down"], tensors["grid.across"]) if "grid.down" in tensors else None
