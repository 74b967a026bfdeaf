"""Integrated Gradients (Sundararajan et al., 2017) without quadrature, for piecewise linear networks."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor, nn

from assay.core.errors import SpecError
from assay.core.query import Query
from assay.core.setting import model_copy
from assay.kit.backward.breakpoints import Pieces, linear_pieces
from assay.kit.backward.piecewise_linear import pullback, require_piecewise_linear
from assay.kit.backward.softmax import mean_softmax_gradient


@dataclass(frozen=True)
class ExactIntegratedGradients:
    """The exact integral of the gradient along the straight line from baseline to input, times their difference.

    A network of ReLUs, maxima and linear layers is piecewise linear: between two breakpoints on the line its gradient
    is constant. The integral is the sum over the pieces of length times gradient. For the probability readout the
    logits are linear on a piece, and the softmax's derivative is integrated over them, exact up to rounding.

    Computed in float64 with a copy of the model. Completeness: attributions sum to score(x) - score(baseline) up to
    rounding. Not applicable: other nonlinear functions (tanh, attention, normalisation by the sample's own statistics),
    and lines with more than ``limit`` pieces.
    """

    limit: int = 20000  # most pieces of a line; each costs a gradient

    paper: ClassVar[str] = "Sundararajan et al., 2017"

    def __post_init__(self) -> None:
        if self.limit < 1:
            raise SpecError(f"exact_integrated_gradients: limit={self.limit} allows no piece. Choose 1 or more.")

    def promised(self, query: Query) -> Tensor:
        return query.change()

    def __call__(self, query: Query) -> Tensor:
        query.require_gradients()
        exact = _in_float64(query)
        (module, has_softmax), delta = _module_without_softmax(exact), exact.x - exact.baseline
        require_piecewise_linear(module, exact.x[:1])
        rows = exact.machine.rows(2 * exact.footprint.forward)  # twice the memory, to inspect the outputs
        pieces = linear_pieces(module, exact.baseline, delta, rows, self.limit)
        total, sizes = torch.zeros_like(delta), torch.zeros_like(delta)
        for part in pieces.split(exact.machine.rows(exact.footprint.gradient)):
            middle = part.at(exact.baseline, delta, 0.5)
            weights = (part.right - part.left)[:, None] * _slopes(part, exact.target[part.sample], has_softmax)
            slopes = pullback(module, middle, weights)
            total.index_add_(0, part.sample, slopes)
            sizes.index_add_(0, part.sample, slopes.abs())
        rounding = torch.finfo(torch.float64).eps * delta.abs() * sizes
        query.remarks.resolution = rounding.to(query.x.dtype)
        return (delta * total).to(query.x.dtype)


def _in_float64(query: Query) -> Query:
    """The query in float64. Images are stored channel by channel: convolutions in float64 would copy other orders."""
    if query.x.dtype == torch.float64:
        return query
    setting = replace(query.setting, model=model_copy(query.setting.model).double())
    x, baseline = (points.double().contiguous() for points in (query.x, query.baseline))
    return replace(query, setting=setting, x=x, baseline=baseline)


def _module_without_softmax(query: Query) -> tuple[nn.Module, bool]:
    """Model and readout as one module without the softmax of the probability readout, and whether there is one."""
    model, readout = query.module.get_submodule("model"), query.module.get_submodule("readout")
    has_softmax = isinstance(readout, nn.Sequential) and isinstance(readout[-1], nn.Softmax)
    rest = readout[:-1] if has_softmax else readout  # type: ignore[index]
    return nn.Sequential(OrderedDict(model=model, readout=rest)), has_softmax


def _slopes(pieces: Pieces, target: Tensor, has_softmax: bool) -> Tensor:
    """The mean over each piece of the explained number's derivative by the module's outputs: (S, C)."""
    if has_softmax:
        return mean_softmax_gradient(pieces.low, pieces.high, target)
    return nn.functional.one_hot(target, pieces.low.shape[1]).to(pieces.low)
