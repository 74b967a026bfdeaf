"""RISE (Petsiuk et al., 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from assay.core.errors import NotApplicable, SpecError
from assay.core.query import Query


@dataclass(frozen=True)
class Rise:
    """The mean of random masks, each weighted by the score of the image that it leaves.

    A mask is a coarse grid of ones and zeros, enlarged bilinearly to (grid + 1) / grid of the image and cut out at a
    random place; it fades the image into the baseline. Divided by ``keep``, the expected mask. The paper weighs by the
    probability: ask for that readout. All images of a cell share the masks. Needs no gradients.
    """

    masks: int = 1000  # how many
    grid: int = 8  # cells per side
    keep: float = 0.1  # probability that a cell is left

    paper: ClassVar[str] = "Petsiuk et al., 2018"

    def __post_init__(self) -> None:
        if self.masks < 1 or self.grid < 2 or not 0 < self.keep <= 1:
            raise SpecError(
                f"rise: masks={self.masks}, grid={self.grid}, keep={self.keep} make no masks. "
                "Choose at least 1 mask, a grid of 2 or more, and 0 < keep <= 1."
            )

    def __call__(self, query: Query) -> Tensor:
        if query.setting.kind != "image":
            raise NotApplicable(f"needs images, and this is {query.setting.kind} data")
        shape = query.setting.features.shape
        stream = query.generator("masks")
        cells = (torch.rand(self.masks, self.grid, self.grid, generator=stream) < self.keep).to(query.x)
        shifts = [torch.rand(self.masks, generator=stream, dtype=torch.float64) for _ in shape]
        total = torch.zeros(len(query.x), *shape, dtype=torch.float64, device=query.x.device)
        for part in query.parts(self.masks):
            axes = zip(shape, shifts, strict=True)
            down, across = (_enlarge(size, self.grid, shift[part]).to(query.x) for size, shift in axes)
            mask = down @ cells[part] @ across.mT  # (part, *shape)
            fade = query.setting.features.expand(mask).unsqueeze(1)
            scores = query.score(query.baseline + fade * (query.x - query.baseline))  # (part, B)
            total += torch.tensordot(scores.double(), mask.double(), dims=([0], [0]))
        return (total / (self.masks * self.keep)).to(query.x.dtype)


def _enlarge(size: int, cells: int, shift: Tensor) -> Tensor:
    """Weights of the cells at each pixel along an axis, for masks shifted by up to a cell: (masks, size, cells).

    Linear between the centres of cells, mirrored beyond the outermost ones (as in the authors' code).
    """
    side = -(-size // cells)  # pixels of a cell
    pixel = (shift * side).floor()[:, None] + torch.arange(size) + 0.5
    place = (pixel * cells / ((cells + 1) * side) - 0.5).abs()  # in cells; mirrored at the first
    place = cells - 1 - (cells - 1 - place).abs()  # mirrored at the last
    return (1 - (place.unsqueeze(2) - torch.arange(cells)).abs()).clamp(min=0)
