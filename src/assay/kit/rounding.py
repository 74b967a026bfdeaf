"""Numbers that are equal up to rounding."""

from __future__ import annotations

import torch
from torch import Tensor

UNITS = 16  # in the last place: allowed difference of equal outputs in float32 and float64


def answer_rounding(dtype: torch.dtype) -> float:
    """The allowed difference of two outputs that should be equal, as a share of the larger (ours)."""
    return units_in_last_place(dtype, UNITS)


def units_in_last_place(dtype: torch.dtype, count: int) -> float:
    """``count`` units in the last place of 1; one unit in half precision, where 16 would be up to an eighth."""
    info = torch.finfo(dtype)
    return (count if info.bits > 16 else 1) * info.eps


def rounding_levels(values: Tensor, rounding: Tensor) -> Tensor:
    """The level 0, 1, ... of every value (..., P), from the smallest; differences up to ``rounding`` (...) are ignored.

    A level holds the values that exceed its smallest by at most ``rounding``, so that a chain of small steps does not
    join distant values. Ranks of levels are ranks of values that do not depend on rounding.
    """
    ordered, order = values.sort(dim=-1)
    level, begin, height = torch.zeros_like(order), ordered[..., 0], torch.zeros_like(order[..., 0])
    for position in range(1, ordered.shape[-1]):
        rises = ordered[..., position] - begin > rounding
        begin = ordered[..., position].where(rises, begin)
        height = height + rises.long()
        level[..., position] = height
    return torch.empty_like(level).scatter_(-1, order, level)
