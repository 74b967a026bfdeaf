"""Smooth masks of a given area (Fong et al., 2019): a coarse grid of numbers, spread over the pixels."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import unfold

COLDNESS = 20.0  # of the smooth maximum
GRAIN = 2**-13  # of masks: the step to which their values are rounded before ordering


@dataclass(frozen=True)
class SmoothMask:
    """A mask of height x width pixels from one number in [0, 1] at every ``step``-th pixel.

    A pixel's value is a smooth maximum of v_i = k(d_i / sigma) n_i over the numbers n_i around it, at distances d_i:
    sum v_i exp(20 v_i) / sum exp(20 v_i), with k(z) = exp(-2 max(z - 1/2, 0)^2). A pixel sees (2 reach + 1)^2 numbers,
    reach = 1 + ceil(sigma / step); those outside of the grid are 0. The canvas extends step * ceil(sigma / step) pixels
    beyond the first and the last number, so that a mask may also lie on the edge.

    224 pixels, step 7, sigma 21: 32 x 32 numbers, of which a pixel sees 9 x 9; a canvas of 260 x 260, the image at 21.
    """

    height: int
    width: int
    step: int
    sigma: float

    @property
    def grid(self) -> tuple[int, int]:
        """How many numbers along each side: ceil(side / step)."""
        return ceil(self.height / self.step), ceil(self.width / self.step)

    @property
    def margin(self) -> int:
        return self.step * ceil(self.sigma / self.step)

    @property
    def reach(self) -> int:
        return 1 + ceil(self.sigma / self.step)

    @property
    def squares(self) -> tuple[int, int]:
        """How many squares of step x step pixels make up the canvas; the last row and column are cut to one pixel."""
        down, across = (count + 2 * self.margin // self.step for count in self.grid)
        return down, across

    @property
    def numbers(self) -> int:
        """About how many numbers are in memory at once while a mask and its gradient are computed."""
        down, across = self.squares
        return down * across * (5 * (2 * self.reach + 1) ** 2 + 10 * self.step**2)

    def canvas(self, numbers: Tensor) -> Tensor:
        """(B, *grid) -> (B, step * (grid - 1) + 2 margin + 1), differentiable."""
        padding = self.reach + self.margin // self.step  # zeros around the grid
        patches = unfold(numbers.unsqueeze(1), 2 * self.reach + 1, padding=padding)  # (B, seen, squares)
        values: Tensor = SmoothMaximum.apply(patches, self._weights(numbers))  # type: ignore[no-untyped-call]
        values = values.unflatten(2, self.squares).unflatten(0, (self.step, self.step))
        whole = values.permute(2, 3, 0, 4, 1).flatten(3, 4).flatten(1, 2)
        return whole[:, : 1 - self.step or None, : 1 - self.step or None]

    def image(self, canvas: Tensor) -> Tensor:
        """The part of the canvas that lies on the image: (B, height, width)."""
        return canvas[:, self.margin : self.margin + self.height, self.margin : self.margin + self.width]

    def _weights(self, like: Tensor) -> Tensor:
        """k(d / sigma) of each pixel of a square and the numbers it sees: (step^2, seen)."""
        pixel = torch.arange(self.step, dtype=torch.float64)
        number = self.step * torch.arange(-self.reach, self.reach + 1, dtype=torch.float64)
        offset = pixel[:, None] - number  # (step, 2 reach + 1)
        distance = torch.hypot(offset[:, None, :, None], offset[None, :, None, :]).flatten(2).flatten(0, 1)
        return torch.exp(-2 * (distance / self.sigma - 0.5).clamp(min=0) ** 2).to(like)


class SmoothMaximum(torch.autograd.Function):
    """Numbers around squares (B, seen, squares), weights (positions, seen) -> smooth maxima (positions, B, squares).

    Both passes handle one position in the squares of one image at a time, in two buffers: 81 numbers per pixel exceed
    the cache.
    """

    @staticmethod
    def forward(ctx: Any, patches: Tensor, weights: Tensor) -> Tensor:
        totals = patches.new_empty(len(weights), len(patches), patches.shape[2])
        maxima, (warm, parts) = torch.empty_like(totals), patches.new_empty(2, *patches.shape[1:])
        for image, patch in enumerate(patches):
            for position, weight in enumerate(COLDNESS * weights.unsqueeze(2)):
                torch.mul(patch, weight, out=warm)  # 20 v
                torch.exp(warm, out=parts)
                torch.sum(parts, dim=0, out=totals[position, image])
                torch.sum(parts.mul_(warm), dim=0, out=maxima[position, image])
        maxima.div_(totals).div_(COLDNESS)
        ctx.save_for_backward(patches, weights, totals, maxima)
        return maxima

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        """d maximum / d v = exp(20 v) (1 + 20 v - 20 maximum) / total."""
        patches, weights, totals, maxima = ctx.saved_tensors
        slope = grads[0].contiguous() / totals
        start = slope * (1 - COLDNESS * maxima)
        result, (warm, parts) = torch.zeros_like(patches), patches.new_empty(2, *patches.shape[1:])
        for image, patch in enumerate(patches):
            for position, weight in enumerate(weights.unsqueeze(2)):
                torch.mul(patch, COLDNESS * weight, out=warm)
                torch.exp(warm, out=parts)
                warm.mul_(slope[position, image]).add_(start[position, image])
                result[image].addcmul_(parts.mul_(warm), weight)
        return result, None


def largest_pixels(masks: Tensor, area: float) -> Tensor:
    """True for the largest pixels of each mask (B, H, W), all but floor((1 - area) * size); of equal ones, the last.

    Values that round to the same multiple of ``GRAIN`` are equal: many pixels are alike, and rounding errors must not
    order them.
    """
    rows = (masks.flatten(1) / GRAIN).round()
    small = int(rows.shape[1] * (1 - area))
    if small == 0:
        return torch.ones_like(masks, dtype=torch.bool)
    border = rows.kthvalue(small, dim=1, keepdim=True).values
    below, equal = rows < border, rows == border
    excess = small - below.sum(dim=1, keepdim=True)  # how many of the equal ones are not among the largest
    return ~(below | (equal & (equal.cumsum(dim=1) <= excess))).view_as(masks)
