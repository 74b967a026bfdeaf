"""The difference of two numbers that should be equal, relative to their size."""

from __future__ import annotations

import torch
from torch import Tensor


def relative_gap(difference: Tensor, left_size: Tensor, right_size: Tensor, rounding: Tensor) -> tuple[Tensor, Tensor]:
    """The size (B,) of a difference, relative to the larger of the two sizes, in 0..2, and where that is defined.

    Undefined where both sizes are within ``rounding`` of 0.
    """
    larger = torch.maximum(left_size, right_size)
    defined = larger > rounding
    return (difference / larger.where(defined, 1.0)).clamp(max=2.0).where(defined, 0.0), defined
