"""Quadrature on [0, 1]: nodes, and weights that sum to 1."""

from __future__ import annotations

from functools import cache
from typing import Literal

import torch
from scipy.special import roots_legendre
from torch import Tensor

Quadrature = Literal["midpoint", "left", "right", "trapezoid", "gauss_legendre"]


def quadrature(rule: Quadrature, steps: int) -> tuple[Tensor, Tensor]:
    """Nodes and weights, each (steps,) in float64; ``trapezoid`` needs two steps at least."""
    if rule == "gauss_legendre":
        return _gauss_legendre(steps)
    if rule == "trapezoid":
        return _trapezoid(steps)
    offset = {"left": 0.0, "midpoint": 0.5, "right": 1.0}[rule]
    return (torch.arange(steps, dtype=torch.float64) + offset) / steps, _equal(steps)


@cache
def _gauss_legendre(steps: int) -> tuple[Tensor, Tensor]:
    nodes, weights = roots_legendre(steps)
    return torch.from_numpy((1 + nodes) / 2), torch.from_numpy(weights / 2)


def _trapezoid(steps: int) -> tuple[Tensor, Tensor]:
    weights = _equal(steps - 1).repeat(2)[:steps]
    weights[[0, -1]] /= 2
    return torch.linspace(0, 1, steps, dtype=torch.float64), weights


def _equal(count: int) -> Tensor:
    return torch.full((count,), 1 / count, dtype=torch.float64)
