"""Numbers that are equal up to rounding."""

from __future__ import annotations

import torch
from torch import Tensor

UNITS = 16  # in the last place, by which answers of float32 and float64 may miss each other


def answer_rounding(dtype: torch.dtype) -> float:
    """How far two answers that should be equal may lie apart, as a share of the larger (ours)."""
    return units(dtype, UNITS)


def units(dtype: torch.dtype, count: int) -> float:
    """So many units in the last place of 1; one in half precision, where 16 are an eighth and swallow what is there."""
    found = torch.finfo(dtype)
    return (count if found.bits > 16 else 1) * found.eps


def levels(values: Tensor, rounding: Tensor) -> Tensor:
    """The level 0, 1, ... of every value (..., P), from the smallest; ``rounding`` (...) is what does not count.

    A level holds the values that exceed its smallest by at most ``rounding``: a chain of small steps does not join what
    is far apart. Ranks of levels are ranks of values in which rounding decides nothing.
    """
    ordered, order = values.sort(dim=-1)
    level, begin, height = torch.zeros_like(order), ordered[..., 0], torch.zeros_like(order[..., 0])
    for place in range(1, ordered.shape[-1]):
        rises = ordered[..., place] - begin > rounding
        begin = ordered[..., place].where(rises, begin)
        height = height + rises.long()
        level[..., place] = height
    return torch.empty_like(level).scatter_(-1, order, level)
