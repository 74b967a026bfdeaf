"""Bands: the rows of an image, divided into parts of equal height."""

from __future__ import annotations

import torch
from torch import Tensor


def band_of_rows(height: int, bands: int) -> Tensor:
    """The band of every row (height,), from 0 at the top; heights differ by one row at most."""
    return torch.arange(height) * bands // height
