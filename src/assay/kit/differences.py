"""Models whose gradients are central differences of their answers, for models that have none."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from assay.core.footprint import footprint
from assay.core.machine import Machine, call_slices


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
        most = self.machine.rows(footprint(self._hidden[0], x[:1]).forward)  # rows per call
        slopes = torch.empty_like(flat)
        for part in call_slices(flat.shape[1], max(1, most // (2 * len(x))), 2 * len(x)):
            entries = torch.arange(part.start, part.stop, device=x.device)
            ends = torch.stack([flat[:, part] + steps[part], flat[:, part] - steps[part]])  # (2, N, K)
            points = flat.repeat(2, len(entries), 1, 1)  # (2, K, N, entries)
            points.scatter_(3, entries.view(1, -1, 1, 1).expand(2, -1, len(x), 1), ends.transpose(1, 2).unsqueeze(3))
            rows = points.flatten(0, 2).view(-1, *x.shape[1:])
            parts = [self.answers(rows[call]) for call in call_slices(len(rows), most)]
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
