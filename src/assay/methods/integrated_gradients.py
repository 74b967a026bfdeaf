"""Integrated Gradients (Sundararajan et al., 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from assay.core.errors import SpecError
from assay.core.query import Query
from assay.kit.quadrature import quadrature

FIRST = 64  # steps of the first attempt, which is compared with half as many


@dataclass(frozen=True)
class IntegratedGradients:
    """Average the gradient along the straight line from the baseline to the input, times their difference.

    Completeness: attributions sum to score(x) - score(baseline), up to the quadrature's error. By default every sample
    gets as many steps as it needs: 64, doubled until the gap is within ``tolerance`` of that difference, and the map
    within ``change`` of the one with half as many steps (a small gap alone can be an accident). A note says on how many
    samples ``most`` steps were not enough. A fixed number of ``steps``, as papers state it, is not adapted: on networks
    with sharp kinks the gap can then be large (on ``color_count`` no midpoint of fewer than 383 steps lies on a white
    pixel's colour, and every map is zero).

    Captum's ``riemann_trapezoid`` differs from ``trapezoid``: its weights sum to 1 - 1/steps.
    """

    steps: int | None = None  # gradients per sample; None: 64, doubled until it converges
    quadrature: Literal["midpoint", "left", "right", "trapezoid", "gauss_legendre"] = "gauss_legendre"  # the rule
    tolerance: float = 0.01  # largest gap of a sample that has converged, as a share of the difference in score
    change: float = 0.05  # largest change of its map by the last doubling, as a share of the map's size
    most: int = 2048  # steps after which doubling ends

    paper: ClassVar[str] = "Sundararajan et al., 2017"
    remedy: ClassVar[str] = "leave steps out, raise most, or use exact_integrated_gradients"

    def __post_init__(self) -> None:
        least = 2 if self.quadrature == "trapezoid" else 1
        if self.steps is not None and self.steps < least:
            raise SpecError(f"integrated_gradients: {self.quadrature} needs at least {least} steps, not {self.steps}.")
        if min(self.tolerance, self.change) < 0 or self.most < FIRST:
            raise SpecError(
                f"integrated_gradients: tolerance={self.tolerance:g}, change={self.change:g}, most={self.most}: "
                f"choose tolerance and change of 0 or more, and most of at least {FIRST}."
            )

    def promised(self, query: Query) -> Tensor:
        return query.change()

    def __call__(self, query: Query) -> Tensor:
        attribution, sizes = self._adaptive_integral(query) if self.steps is None else self._integral(query, self.steps)
        query.remarks.resolution = _rounding(sizes)
        return attribution

    def _adaptive_integral(self, query: Query) -> tuple[Tensor, Tensor]:
        """Every sample with its own number of steps: only samples that have not converged get more."""
        attribution, sizes = self._integral(query, FIRST // 2)
        rows, steps = torch.arange(len(query.x), device=query.x.device), FIRST
        while len(rows) and steps <= self.most:
            subset = query.take(rows)
            maps, subset_sizes = self._integral(subset, steps)
            converged = self._has_converged(subset, maps, attribution[rows], subset_sizes)
            attribution[rows], sizes[rows] = maps, subset_sizes
            rows, steps = rows[~converged], 2 * steps
        if len(rows):
            query.note(f"did not converge within {steps // 2:,} steps", len(rows))
        return attribution, sizes

    def _has_converged(self, query: Query, maps: Tensor, previous: Tensor, sizes: Tensor) -> Tensor:
        """True where the gap is small and the map is close to the previous one, up to rounding: (B,)."""
        ends = query.score(torch.stack([query.x, query.baseline]))
        promised = ends[0].double() - ends[1]
        rounding = 8 * _rounding(ends.abs().amax(dim=0)) + _total(_rounding(sizes))
        adds_up = (_total(maps) - promised).abs() <= self.tolerance * promised.abs() + rounding
        return adds_up & (_total((maps - previous).abs()) <= self.change * _total(maps.abs()) + rounding)

    def _integral(self, query: Query, steps: int) -> tuple[Tensor, Tensor]:
        """The attribution with this number of steps, and the same sum over absolute values of its terms."""
        nodes, weights = (part.to(query.x) for part in quadrature(self.quadrature, steps))
        delta = query.x - query.baseline
        total, sizes = query.x.new_zeros(2, delta.numel())
        for part in query.parts(steps, gradients=True):
            alpha = nodes[part].view(-1, *[1] * delta.dim())
            slopes = query.gradient(query.baseline + alpha * delta).flatten(1)  # (nodes, B * entries)
            total += torch.tensordot(weights[part], slopes, dims=1)
            sizes += torch.tensordot(weights[part], slopes.abs(), dims=1)
        return delta * total.view(delta.shape), delta.abs() * sizes.view(delta.shape)


def _total(maps: Tensor) -> Tensor:
    return maps.double().flatten(1).sum(dim=1)


def _rounding(sizes: Tensor) -> Tensor:
    return torch.finfo(sizes.dtype).eps * sizes
