"""The difference of two numbers that should be equal, relative to their size."""

from __future__ import annotations

import torch
from torch import Tensor


def relative_gap(difference: Tensor, left: Tensor, right: Tensor, rounding: Tensor) -> tuple[Tensor, Tensor]:
    """The difference (B,) of two things relative to the larger of their sizes, in 0..2, and where that is defined.

    Undefined where both sizes are within ``rounding`` of 0.
    """
    larger = torch.maximum(left, right)
    defined = larger > rounding
    return (difference / larger.where(defined, 1.0)).clamp(max=2.0).where(defined, 0.0), defined
