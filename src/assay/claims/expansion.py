"""Algorithms 1 and 3 of Li et al. (2024): soundness by adding features, highest attribution first.

Rows are cases (..., d + 1): performance without any feature, with the first, the first two, ... in the order of the
attribution (..., d), which never rises along a row. ``ends`` (..., d) says after which features a step ends; features
without attribution belong to no step.
"""

from __future__ import annotations

import torch
from torch import Tensor


def one_by_one(performance: Tensor, attribution: Tensor) -> Tensor:
    """A step is one feature."""
    return (attribution > 0).expand(performance[..., 1:].shape)


def by_area(performance: Tensor, attribution: Tensor, size: int) -> Tensor:
    """A step is ``size`` features."""
    return _aligned(one_by_one(performance, attribution), size)


def by_mass(performance: Tensor, attribution: Tensor, steps: int) -> Tensor:
    """A step ends with the feature that completes another 1 / ``steps`` of all attribution."""
    total = attribution.sum(dim=-1, keepdim=True).clamp(min=1)
    done = attribution.cumsum(dim=-1) * steps // total
    before = torch.cat([torch.zeros_like(done[..., :1]), done[..., :-1]], dim=-1)
    return one_by_one(performance, attribution) & (done > before)


def by_halves(performance: Tensor, attribution: Tensor, size: int, least_rise: float) -> Tensor:
    """A step is ``size`` features; one that raises performance is replaced by its two halves, and so on.

    ``size`` is a power of two. Only steps that do not raise performance keep more than one feature.
    """
    attributed = one_by_one(performance, attribution)
    ends = _aligned(attributed, size)
    split = torch.ones_like(ends)  # features whose step is halved again
    while size > 1:
        split = split & (_rise(performance, _aligned(attributed, size)) >= least_rise)
        size //= 2
        ends = ends | (_aligned(attributed, size) & split)
    return ends


def claimed_soundness(
    performance: Tensor, attribution: Tensor, ends: Tensor, least_rise: float, start: float
) -> Tensor:
    """What Algorithm 1 returns when it stops after each feature (..., d); it can stop where a step ends.

    All attribution of a step that raises performance by less than ``least_rise`` is false. Steps after which
    performance is at most ``start`` are never false; a ``start`` below 0 excepts none.
    """
    above_start = _at_step_end(performance[..., 1:], ends) > start
    false = torch.where((_rise(performance, ends) < least_rise) & above_start, attribution, 0)
    return 1 - share_so_far(false, attribution)


def share_so_far(part: Tensor, attribution: Tensor) -> Tensor:
    """The share (..., d) of ``part`` in the attribution of the features so far; 0 while that is 0."""
    whole = attribution.cumsum(dim=-1)
    return torch.where(whole > 0, part.cumsum(dim=-1).double() / whole.clamp(min=1), 0.0)


def levels_reached(levels: Tensor, ends: Tensor) -> Tensor:
    """How many whole-numbered ``levels`` (..., d + 1) of performance are first reached by the step that ends here.

    Algorithm 1 stops there for each of these levels. Performance must never fall along a row.
    """
    return torch.where(ends, _rise(levels, ends), 0)


def _aligned(attributed: Tensor, size: int) -> Tensor:
    """Ends after every ``size``-th feature and after the last ``attributed`` one."""
    number = torch.arange(1, attributed.shape[-1] + 1, device=attributed.device)
    return attributed & ((number % size == 0) | (number == attributed.sum(dim=-1, keepdim=True)))


def _rise(performance: Tensor, ends: Tensor) -> Tensor:
    """The rise (..., d) of performance over each feature's step."""
    return _at_step_end(performance[..., 1:], ends) - _at_step_start(performance[..., :-1], ends)


def _at_step_end(after: Tensor, ends: Tensor) -> Tensor:
    """``after`` (..., d) at the end of each feature's step."""
    current, values = after[..., -1], []
    for value, end in zip(after.unbind(-1)[::-1], ends.unbind(-1)[::-1], strict=True):
        current = torch.where(end, value, current)
        values.append(current)
    return torch.stack(values[::-1], dim=-1)


def _at_step_start(before: Tensor, ends: Tensor) -> Tensor:
    """``before`` (..., d) at the first feature of each feature's step."""
    current, values = before[..., 0], []
    starts = torch.cat([torch.ones_like(ends[..., :1]), ends[..., :-1]], dim=-1)
    for value, begins in zip(before.unbind(-1), starts.unbind(-1), strict=True):
        current = torch.where(begins, value, current)
        values.append(current)
    return torch.stack(values, dim=-1)
