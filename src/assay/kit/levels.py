"""Numbers that are equal up to rounding."""

from __future__ import annotations

import torch
from torch import Tensor


def levels(values: Tensor, rounding: Tensor) -> Tensor:
    """The level 0, 1, ... of every value (..., P), from the smallest; ``rounding`` (...) is what does not count.

    Values are on one level where a chain of steps of at most ``rounding`` leads from one to the other. Ranks of levels
    are ranks of values in which rounding decides nothing.
    """
    ordered, order = values.sort(dim=-1)
    rises = ordered.diff(dim=-1) > rounding.unsqueeze(-1)
    level = torch.nn.functional.pad(rises.long().cumsum(dim=-1), (1, 0))
    return torch.empty_like(level).scatter_(-1, order, level)
