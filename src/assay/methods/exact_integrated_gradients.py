"""Integrated Gradients (Sundararajan et al., 2017) without quadrature, for networks made of straight pieces."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor, nn

from assay.core.errors import SpecError
from assay.core.query import Query
from assay.core.setting import model_copy
from assay.kit.breakpoints import Pieces, straight_pieces
from assay.kit.kinks import pullback, require_straight
from assay.kit.softmax import mean_slope


@dataclass(frozen=True)
class ExactIntegratedGradients:
    """Integrate the gradient along the straight line from the baseline to the input, times their difference, exactly.

    Between its breakpoints on the line, a network of ReLUs, maxima and linear layers has one gradient: the integral is
    the sum over the pieces of length times gradient. For the probability readout the logits are linear on a piece, and
    the integral of the softmax's derivative is taken over them, to rounding.

    Everything is done in float64 with a copy of the model. Completeness: attributions sum to score(x) -
    score(baseline) up to rounding. Other nonlinear functions (tanh, attention, normalisation by the sample's own
    statistics) are not made of straight pieces: not applicable; nor are lines with more than ``limit`` pieces.
    """

    limit: int = 20000  # pieces of a line up to which it is tried; each costs a gradient

    paper: ClassVar[str] = "Sundararajan et al., 2017"

    def __post_init__(self) -> None:
        if self.limit < 1:
            raise SpecError(f"exact_integrated_gradients: limit={self.limit} leaves no piece. Choose 1 or more.")

    def promised(self, query: Query) -> Tensor:
        return query.change()

    def __call__(self, query: Query) -> Tensor:
        query.require_gradients()
        exact = _doubled(query)
        (module, soft), delta = _parts(exact), exact.x - exact.baseline
        require_straight(module, exact.x[:1])
        rows = exact.machine.rows(2 * exact.footprint.forward)  # as much again for looking at them
        pieces = straight_pieces(module, exact.baseline, delta, rows, self.limit)
        total, sizes = torch.zeros_like(delta), torch.zeros_like(delta)
        for part in pieces.split(exact.machine.rows(exact.footprint.gradient)):
            middle = part.at(exact.baseline, delta, 0.5)
            weights = (part.right - part.left)[:, None] * _slopes(part, exact.target[part.sample], soft)
            slopes = pullback(module, middle, weights)
            total.index_add_(0, part.sample, slopes)
            sizes.index_add_(0, part.sample, slopes.abs())
        rounding = torch.finfo(torch.float64).eps * delta.abs() * sizes
        query.remarks.resolution = rounding.to(query.x.dtype)
        return (delta * total).to(query.x.dtype)


def _doubled(query: Query) -> Query:
    if query.x.dtype == torch.float64:
        return query
    setting = replace(query.setting, model=model_copy(query.setting.model).double())
    return replace(query, setting=setting, x=query.x.double(), baseline=query.baseline.double())


def _parts(query: Query) -> tuple[nn.Module, bool]:
    """Model and readout as one module, without the softmax that ends the probability readout; whether there is one."""
    model, readout = query.module.get_submodule("model"), query.module.get_submodule("readout")
    soft = isinstance(readout, nn.Sequential) and isinstance(readout[-1], nn.Softmax)
    kept = readout[:-1] if soft else readout  # type: ignore[index]
    return nn.Sequential(OrderedDict(model=model, readout=kept)), soft


def _slopes(pieces: Pieces, target: Tensor, soft: bool) -> Tensor:
    """(S, C): the mean over a piece of the explained number's derivative by the module's outputs."""
    if soft:
        return mean_slope(pieces.low, pieces.high, target)
    return nn.functional.one_hot(target, pieces.low.shape[1]).to(pieces.low)
