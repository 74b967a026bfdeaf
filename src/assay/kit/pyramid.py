"""Images blurred more and more, and pictures that mix neighbouring levels pixel by pixel."""

from __future__ import annotations

from math import ceil

import torch
from torch import Tensor


def pyramid(images: Tensor, levels: int, sigma: float) -> Tensor:
    """(B, C, H, W) -> (B, levels, C, H, W): Gaussian blur with ``sigma`` first, evenly less, none at last."""
    sigmas = [sigma * (1 - level / (levels - 1)) for level in range(levels)]
    return torch.stack([_blurred(images, one) if one > 0 else images for one in sigmas], dim=1)


def mixed(levels: Tensor, mask: Tensor) -> Tensor:
    """Level (count - 1) * mask at each pixel, between two levels their linear mix; (B, H, W) in [0, 1].

    The slope is that towards the next level; beyond the last there is none, and the slope is 0.
    """
    last = levels.shape[1] - 1
    place = last * mask
    lower = place.detach().floor().long().clamp(0, last)
    first, second = (_picked(levels, which) for which in (lower, (lower + 1).clamp(max=last)))
    return first + (place - lower)[:, None] * (second - first)


def _picked(levels: Tensor, which: Tensor) -> Tensor:
    """The named level at each pixel: (B, C, H, W)."""
    index = which[:, None, None].expand(-1, 1, *levels.shape[2:])
    return levels.gather(1, index)[:, 0]


def _blurred(images: Tensor, sigma: float) -> Tensor:
    down, across = (_blur(size, sigma, images) for size in images.shape[-2:])
    return down @ images @ across


def _blur(size: int, sigma: float, like: Tensor) -> Tensor:
    """Convolution with a Gaussian cut off beyond ceil(4 sigma) pixels, 0 outside of the image: (size, size)."""
    reach = ceil(4 * sigma)
    kernel = torch.exp(-0.5 * (torch.arange(-reach, reach + 1, dtype=torch.float64) / sigma) ** 2)
    place = torch.arange(size)
    offset = place[:, None] - place
    weights = (kernel / kernel.sum())[offset.clamp(-reach, reach) + reach].masked_fill(offset.abs() > reach, 0)
    return weights.to(like)
