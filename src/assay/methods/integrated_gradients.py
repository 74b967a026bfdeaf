"""Integrated Gradients (Sundararajan et al., 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from assay.core.errors import SpecError
from assay.core.query import Query
from assay.kit.quadrature import quadrature


@dataclass(frozen=True)
class IntegratedGradients:
    """Average the gradient along the straight line from the baseline to the input, times their difference.

    Completeness: attributions sum to score(x) - score(baseline), up to the quadrature's error in ``steps``; on
    networks with sharp kinks that error can be large (with 50 Gauss-Legendre steps a single node may lie where the
    score changes). Captum's ``riemann_trapezoid`` differs from ``trapezoid``: its weights sum to 1 - 1/steps.
    """

    steps: int = 64  # gradients per sample
    quadrature: Literal["midpoint", "left", "right", "trapezoid", "gauss_legendre"] = "midpoint"  # where on the line

    paper: ClassVar[str] = "Sundararajan et al., 2017"

    def __post_init__(self) -> None:
        least = 2 if self.quadrature == "trapezoid" else 1
        if self.steps < least:
            raise SpecError(f"integrated_gradients: {self.quadrature} needs at least {least} steps, not {self.steps}.")

    def promised(self, query: Query) -> Tensor:
        return query.change()

    def __call__(self, query: Query) -> Tensor:
        nodes, weights = (part.to(query.x) for part in quadrature(self.quadrature, self.steps))
        delta = query.x - query.baseline
        total = torch.zeros_like(query.x)
        for part in query.parts(self.steps, gradients=True):
            alpha = nodes[part].view(-1, *[1] * delta.dim())
            total += torch.tensordot(weights[part], query.gradient(query.baseline + alpha * delta), dims=1)
        return delta * total
