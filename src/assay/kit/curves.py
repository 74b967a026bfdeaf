"""Curves over growing numbers of features: the numbers at which they are evaluated, and the area under them."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10

import torch
from torch import Tensor


def even_counts(total: int, steps: int) -> Tensor:
    """0, ..., total in ``steps`` steps whose sizes differ by at most one; never more steps than features."""
    if steps < 1:
        raise ValueError(f"a curve needs at least one step, not {steps}")
    steps = min(steps, total)
    return torch.arange(steps + 1) * total // steps


def symmetric_counts(total: int, steps: int) -> Tensor:
    """``even_counts``, but with every count k also total - k; one count more where the middle would split a feature."""
    lower = even_counts(total, steps)
    lower = lower[: (len(lower) + 1) // 2]
    counts: Tensor = torch.cat([lower, total - lower]).unique()
    return counts


def log_counts(largest: int, points: int) -> Tensor:
    """Distinct whole numbers 1, ..., largest, evenly spaced in their logarithm: at most ``points`` of them."""
    spaced = torch.logspace(0, log10(largest), points, dtype=torch.float64).round().long()
    return torch.tensor(sorted(set(spaced.tolist())))


def counts_of_shares(total: int, shares: Sequence[float]) -> Tensor:
    """How many of ``total`` features these shares are, rounded down; 0.29 of 100 is 29 despite rounding of floats."""
    return (torch.tensor(shares, dtype=torch.float64) * total + 1e-6).floor().long()


def area(curve: Tensor, at: Tensor) -> Tensor:
    """Area (B,) under ``curve`` (B, K) over the positions ``at`` (K,), by the trapezoid rule."""
    return torch.trapezoid(curve.double(), at.double())


def cumulative_share(hits: Tensor) -> Tensor:
    """The share (B, P + 1) of all ``hits`` (B, P) among the first 0, 1, ..., P; 0 where there are none."""
    hits = hits.double()
    total = hits.sum(dim=1, keepdim=True)
    counts = torch.cat([torch.zeros_like(total), hits.cumsum(dim=1)], dim=1)
    return counts / torch.where(total > 0, total, 1.0)
