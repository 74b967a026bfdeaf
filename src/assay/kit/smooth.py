"""Gaussian smoothing of images."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import conv2d


def blur(images: Tensor, sigma: float, reach: int | None = None) -> Tensor:
    """(B, H, W) blurred with a Gaussian cut off at ``reach`` pixels; outside of the image there is nothing (0)."""
    kernel = gaussian(sigma, images, reach)
    reach = len(kernel) // 2
    down = conv2d(images[:, None], kernel.view(1, 1, -1, 1), padding=(reach, 0))
    return conv2d(down, kernel.view(1, 1, 1, -1), padding=(0, reach))[:, 0]


def gaussian(sigma: float, like: Tensor, reach: int | None = None) -> Tensor:
    """The kernel (2 reach + 1,), adding up to 1; it reaches as far as four sigma unless told otherwise."""
    reach = int(4 * sigma + 0.5) if reach is None else reach
    offsets = torch.arange(-reach, reach + 1, dtype=like.dtype, device=like.device)
    weights = torch.exp(-0.5 * (offsets / sigma) ** 2)
    return weights / weights.sum()
