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
    """The mean of random masks, each weighted by the score of the masked image.

    A mask is a coarse grid of ones and zeros, enlarged bilinearly to (grid + 1) / grid of the image and cropped at a
    random offset. It fades the image into the baseline. The mean is divided by ``keep``, the expected mask. The paper
    weighs by the probability: ask for that readout. All images of a series share the masks. Needs no gradients.
    """

    masks: int = 1000  # number of masks
    grid: int = 8  # numbers per side of the coarse grid
    keep: float = 0.1  # probability of a 1 in the grid

    paper: ClassVar[str] = "Petsiuk et al., 2018"

    def __post_init__(self) -> None:
        if self.masks < 1 or self.grid < 2 or not 0 < self.keep <= 1:
            raise SpecError(
                f"rise: masks={self.masks}, grid={self.grid}, keep={self.keep} cannot make masks. "
                "Choose at least 1 mask, a grid of 2 or more, and 0 < keep <= 1."
            )

    def __call__(self, query: Query) -> Tensor:
        if query.setting.kind != "image":
            raise NotApplicable(f"needs images, and this is {query.setting.kind} data")
        shape = query.setting.features.shape
        stream = query.generator("masks")
        grids = (torch.rand(self.masks, self.grid, self.grid, generator=stream) < self.keep).to(query.x)
        shifts = [torch.rand(self.masks, generator=stream, dtype=torch.float64) for _ in shape]
        total = torch.zeros(len(query.x), *shape, dtype=torch.float64, device=query.x.device)
        for part in query.parts(self.masks):
            axes = zip(shape, shifts, strict=True)
            down, across = (_enlarge(size, self.grid, shift[part]).to(query.x) for size, shift in axes)
            mask = down @ grids[part] @ across.mT  # (part, *shape)
            fade = query.setting.features.expand(mask).unsqueeze(1)
            scores = query.score(query.baseline + fade * (query.x - query.baseline))  # (part, B)
            total += torch.tensordot(scores.double(), mask.double(), dims=([0], [0]))
        return (total / (self.masks * self.keep)).to(query.x.dtype)


def _enlarge(size: int, grid: int, shift: Tensor) -> Tensor:
    """Weights of the grid's numbers at each pixel of an axis, for masks shifted by up to a step: (masks, size, grid).

    Linear between the numbers' positions, mirrored beyond the outermost ones (as in the authors' code).
    """
    step = -(-size // grid)  # pixels of a step of the grid
    pixel = (shift * step).floor()[:, None] + torch.arange(size) + 0.5
    position = (pixel * grid / ((grid + 1) * step) - 0.5).abs()  # in steps; mirrored at the first
    position = grid - 1 - (grid - 1 - position).abs()  # mirrored at the last
    return (1 - (position.unsqueeze(2) - torch.arange(grid)).abs()).clamp(min=0)
