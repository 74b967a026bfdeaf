"""Gaussian blur of images, and pyramids: images at several strengths of blur, mixed pixel by pixel."""

from __future__ import annotations

from math import ceil

import torch
from torch import Tensor
from torch.nn.functional import conv2d


def blur(images: Tensor, sigma: float, reach: int | None = None) -> Tensor:
    """(B, H, W) blurred with a Gaussian cut off at ``reach`` pixels; outside of the image values are 0."""
    kernel = gaussian_kernel(sigma, images, reach)
    reach = len(kernel) // 2
    down = conv2d(images[:, None], kernel.view(1, 1, -1, 1), padding=(reach, 0))
    return conv2d(down, kernel.view(1, 1, 1, -1), padding=(0, reach))[:, 0]


def gaussian_kernel(sigma: float, like: Tensor, reach: int | None = None) -> Tensor:
    """The kernel (2 reach + 1,), adding up to 1; ``reach`` is four sigma by default."""
    reach = int(4 * sigma + 0.5) if reach is None else reach
    offsets = torch.arange(-reach, reach + 1, dtype=like.dtype, device=like.device)
    weights = torch.exp(-0.5 * (offsets / sigma) ** 2)
    return weights / weights.sum()


def pyramid(images: Tensor, levels: int, sigma: float) -> Tensor:
    """(B, C, H, W) -> (B, levels, C, H, W): blurred with ``sigma`` first, then evenly less, at last not at all."""
    sigmas = [sigma * (1 - level / (levels - 1)) for level in range(levels)]
    return torch.stack([_blurred(images, level_sigma) if level_sigma > 0 else images for level_sigma in sigmas], dim=1)


def mix_levels(levels: Tensor, mask: Tensor) -> Tensor:
    """Level (count - 1) * mask at each pixel, with linear interpolation; ``mask`` is (B, H, W) in [0, 1].

    At a level the gradient is the slope towards the next one; at the last level it is 0.
    """
    last = levels.shape[1] - 1
    depth = last * mask
    lower = depth.detach().floor().long().clamp(0, last)
    first, second = (_level_at_pixels(levels, index) for index in (lower, (lower + 1).clamp(max=last)))
    return first + (depth - lower)[:, None] * (second - first)


def _level_at_pixels(levels: Tensor, level: Tensor) -> Tensor:
    """The given level at each pixel: (B, C, H, W)."""
    index = level[:, None, None].expand(-1, 1, *levels.shape[2:])
    return levels.gather(1, index)[:, 0]


def _blurred(images: Tensor, sigma: float) -> Tensor:
    down, across = (_blur_matrix(size, sigma, images) for size in images.shape[-2:])
    return down @ images @ across


def _blur_matrix(size: int, sigma: float, like: Tensor) -> Tensor:
    """Convolution with a Gaussian cut off beyond ceil(4 sigma) pixels, 0 outside of the image: (size, size)."""
    reach = ceil(4 * sigma)
    kernel = torch.exp(-0.5 * (torch.arange(-reach, reach + 1, dtype=torch.float64) / sigma) ** 2)
    position = torch.arange(size)
    offset = position[:, None] - position
    weights = (kernel / kernel.sum())[offset.clamp(-reach, reach) + reach].masked_fill(offset.abs() > reach, 0)
    return weights.to(like)
