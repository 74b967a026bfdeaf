"""Gradient methods for models without gradients: central differences in place of gradients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from assay.core.errors import NotApplicable, SpecError
from assay.core.footprint import footprint
from assay.core.machine import Machine
from assay.core.protocols import Fitted, Method, positive_only
from assay.core.query import Query
from assay.methods.gradient import Gradient

ROWS = 64  # reference rows on which zeros are counted


@dataclass(frozen=True)
class ByDifferences:
    """Another method, asked about the same model with differences of its outputs in place of its gradients (ours).

    The slope in column j is ``(f(x + h) - f(x - h)) / (2 h)``; h is ``step`` times the standard deviation of j over the
    reference rows (1 where j is constant). So methods that need gradients answer about forests, boosted trees and any
    callable. The readout after the model keeps its exact gradient. Layers of the model are hidden: methods that read
    these do not apply.

    Trees are constant between thresholds. The share of differences that are 0, over some reference rows, is noted; with
    more than ``zeros``, the method does not apply. Columns that the model does not read count, too, although 0 is right
    for them: allow more zeros if it reads few. Every gradient takes two model rows for each column.
    """

    of: Method = Gradient()  # the inner method
    step: float = 0.5  # in standard deviations of the column over the reference rows
    zeros: float = 0.5  # largest share of differences that may be 0

    def __post_init__(self) -> None:
        if not self.step > 0 or not 0 <= self.zeros <= 1:
            raise SpecError(
                f"by_differences: step={self.step:g}, zeros={self.zeros:g} is not possible. Choose a positive step, "
                "and for zeros a share from 0 to 1."
            )

    @property
    def positive_only(self) -> bool:
        """As the inner method."""
        return positive_only(self.of)

    @property
    def promised(self) -> Callable[[Query], Tensor]:
        """The inner method's; absent if it has none."""
        inner: Callable[[Query], Tensor] = self.of.promised  # type: ignore[attr-defined]
        return lambda query: inner(self._differenced(query, query.fitted["deviation"]))

    def fit(self, query: Query) -> dict[str, Tensor]:
        if query.setting.kind != "table":  # images have many entries, each with little effect
            raise NotApplicable(f"needs a table, and this is {query.setting.kind} data")
        deviation = _deviation(query.x)
        differenced = self._differenced(query, deviation)
        zeros = self._share_of_zeros(differenced)
        inner = cast(Fitted, self.of).fit(differenced) if hasattr(self.of, "fit") else {}
        return {**inner, "deviation": deviation, "zeros": zeros}

    def __call__(self, query: Query) -> Tensor:
        query.note(f"{float(query.fitted['zeros']):.0%} of differences are 0 on reference rows")
        return self.of(self._differenced(query, query.fitted["deviation"]))

    def _differenced(self, query: Query, deviation: Tensor) -> Query:
        model = Differenced(query.setting.model, self.step * deviation, query.machine)
        return replace(query, setting=replace(query.setting, model=model, differentiable=True, hints={}))

    def _share_of_zeros(self, query: Query) -> Tensor:
        count = len(query.x)
        some = query.take(torch.arange(count)[:: -(-count // ROWS)])
        zeros = (some.gradient(some.x) == 0).double().mean()
        if zeros > self.zeros:
            raise NotApplicable(
                f"needs a model that changes within {self.step:g} standard deviations ('step'), and {float(zeros):.0%} "
                f"of its differences on reference rows are 0, more than {self.zeros:.0%} ('zeros')"
            )
        return zeros


def _deviation(x: Tensor) -> Tensor:
    """The standard deviation of every column; 1 where it is constant."""
    varies = (x != x[0]).any(dim=0)
    return x.double().std(dim=0, correction=0).where(varies, 1.0).to(x.dtype)


class Differenced(nn.Module):
    """The same answers; the backward pass takes (f(x + step) - f(x - step)) / (2 step) for each entry of x.

    Only answers of the model are used, so it may leave torch. Its layers cannot be seen: they have no gradients.
    """

    def __init__(self, model: nn.Module, steps: Tensor, machine: Machine) -> None:
        super().__init__()
        self._hidden = (model,)  # in a tuple, so that it is not a submodule
        self.steps = steps.flatten()  # one for each entry of a row, positive
        self.machine = machine
        self.eval()

    def forward(self, x: Tensor) -> Tensor:
        return _Differences.apply(x, self)  # type: ignore[no-any-return,no-untyped-call]

    def answers(self, x: Tensor) -> Tensor:
        """The model's answers, without gradients."""
        with torch.no_grad(), torch._C.DisableTorchFunction():  # nor for those who intercept torch's functions
            answer: Tensor = self._hidden[0](x.detach())
        return answer

    def _apply(self, fn: Any, recurse: bool = True) -> Differenced:
        self._hidden[0]._apply(fn, recurse)  # type: ignore[no-untyped-call]
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        return self

    def gradient_at(self, x: Tensor, gradient: Tensor) -> Tensor:
        """The gradient at x (N, *entries), from the one at the answers (N, C)."""
        flat, steps = x.flatten(1), self.steps.to(x)
        bytes_per_row = footprint(self._hidden[0], x[:1]).forward
        slopes = torch.empty_like(flat)
        for part in self.machine.calls(flat.shape[1], bytes_per_row, 2 * len(x)):
            entries = torch.arange(part.start, part.stop, device=x.device)
            ends = torch.stack([flat[:, part] + steps[part], flat[:, part] - steps[part]])  # (2, N, K)
            points = flat.repeat(2, len(entries), 1, 1)  # (2, K, N, entries)
            points.scatter_(3, entries.view(1, -1, 1, 1).expand(2, -1, len(x), 1), ends.transpose(1, 2).unsqueeze(3))
            rows = points.flatten(0, 2).view(-1, *x.shape[1:])
            parts = [self.answers(rows[call]) for call in self.machine.calls(len(rows), bytes_per_row)]
            upper, lower = torch.cat(parts).unflatten(0, points.shape[:3])
            # Not 2 * steps: x + step is rounded.
            slopes[:, part] = ((upper - lower) * gradient).sum(dim=2).T / (ends[0] - ends[1])
        return slopes.view_as(x)


class _Differences(torch.autograd.Function):
    @staticmethod
    def forward(x: Tensor, module: Differenced) -> Tensor:
        return module.answers(x)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        x, ctx.module = inputs
        ctx.save_for_backward(x)

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (x,) = ctx.saved_tensors
        return ctx.module.gradient_at(x, gradient), None
