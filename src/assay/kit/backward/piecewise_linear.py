"""Piecewise linear functions: where a call of the model bends.

Two kinds are covered: elementwise functions with kinks at fixed values (ReLU, absolute value, clamping, ...) and
functions that return the largest or smallest of several numbers (pooling, maxima). A number counts as lying on a kink
when rounding could account for its distance from it; the error of this is as small as rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from assay.core.errors import NotApplicable
from assay.kit.backward.rules import Call, CallReplacements, ModelCall, RuledModule, call_with_rule, gradient

SLACK = 1e-13  # relative to the largest number so far in the row: rounding errors of doubles are about 1e-16 of it

KINKS: dict[str, Callable[..., tuple[Any, ...]]] = {
    **dict.fromkeys(("relu", "leaky_relu", "prelu", "abs"), lambda *_, **__: (0.0,)),
    **dict.fromkeys(("clamp", "clip"), lambda min=None, max=None: (min, max)),
    "clamp_min": lambda min: (min,),
    "clamp_max": lambda max: (max,),
    "relu6": lambda *_, **__: (0.0, 6.0),
    "hardtanh": lambda min_val=-1.0, max_val=1.0, inplace=False: (min_val, max_val),
}
POOLS = tuple(f"{adaptive}max_pool{d}d" for adaptive in ("", "adaptive_") for d in (1, 2, 3))
EXTREMES = ("max", "min", "amax", "amin")  # over an axis
PAIRS = ("maximum", "minimum", "max", "min")  # of two tensors
FUNCTION_NAMES = frozenset((*KINKS, *POOLS, *EXTREMES, *PAIRS))


def require_piecewise_linear(module: nn.Module, row: Tensor) -> None:
    """NotApplicable where the model computes something that is not covered here, and not linear."""
    with torch.enable_grad():
        RuledModule(module, dict.fromkeys(FUNCTION_NAMES, _with_known_gradient), ("MaskedFill",))(
            row.detach().requires_grad_()
        )


def crossing_values(call: ModelCall, values: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Pairs of tensors: numbers at both ends of lines that are linear between them and 0 where the call bends.

    The first half of the rows holds the near ends, the second half the far ends; the call's input is linear between
    them. For an elementwise function the number is the distance from a kink; for the largest of several, the lead of
    the largest at the near end over the largest at the far end.
    """
    if (kink_values := kinks(call)) is not None:
        for kink in kink_values:
            near, far = (values - kink if kink else values).chunk(2)
            yield near, far
    elif (extreme := _extreme(call, values)) is not None:
        select, inputs = extreme
        near, far = inputs.nan_to_num().chunk(2)
        near_output, near_change = torch.func.jvp(select, (near,), (far - near,))[:2]
        far_output, far_change = torch.func.jvp(select, (far,), (near - far,))[:2]
        yield near_output - (far_output + far_change), (near_output + near_change) - far_output


def kinks(call: ModelCall) -> tuple[float, ...] | None:
    """The kinks of an elementwise function; None for other functions, and where a kink is a tensor."""
    if call.name not in KINKS:
        return None
    values = [value for value in KINKS[call.name](*call.arguments, **call.keywords) if value is not None]
    return None if any(isinstance(value, Tensor) for value in values) else tuple(values)


class Slack:
    """The distance from a kink within which a number counts as lying on it."""

    def __init__(self, rows: int) -> None:
        self.rows, self.largest_so_far = rows, torch.zeros(())

    def __call__(self, values: Tensor) -> Tensor:
        """(rows,): in proportion to the largest number so far in each row."""
        if len(values) % self.rows:
            raise NotApplicable("needs a model that keeps rows along the first axis")
        size = self._row_maxima(values.detach())
        if not bool(size.isfinite().all()):
            size = self._row_maxima(
                values.detach().nan_to_num(0.0, 0.0, 0.0)
            )  # infinite numbers come from masks of a readout
        self.largest_so_far = torch.maximum(size, self.largest_so_far.to(size))
        return SLACK * self.largest_so_far

    def _row_maxima(self, values: Tensor) -> Tensor:
        axes = tuple(range(1, values.dim()))
        size = torch.maximum(values.amax(axes), -values.amin(axes)) if axes else values.abs()
        return size.view(self.rows, -1).amax(dim=1)


def broadcast_rows(values: Tensor, per_row: Tensor) -> Tensor:
    """One number per row, shaped to broadcast with ``values``, whose first axis may hold several entries per row."""
    return per_row.repeat_interleave(len(values) // len(per_row)).view(-1, *[1] * (values.dim() - 1))


def pullback(module: nn.Module, rows: Tensor, weights: Tensor) -> Tensor:
    """The gradient of the weighted outputs (N, C) at rows (N, ...).

    A number that lies on a kink up to rounding gets autograd's gradient exactly at the kink, so that the result does
    not depend on rounding and thus not on the size of a batch.
    """
    rows = rows.detach().requires_grad_()
    slack = Slack(len(rows))

    def snapped(call: ModelCall, values: Tensor) -> Tensor:
        kink_values, width = kinks(call), slack(values)
        if kink_values is None:
            return call(values)

        def rule(call: Call, values: Tensor, grad: Tensor) -> Tensor:
            for kink in kink_values:
                distance = (values - kink if kink else values).abs()
                values = values.masked_fill(distance <= broadcast_rows(values, width), kink)
            return gradient(call, values, grad)

        return call_with_rule(call, values, rule)

    with torch.enable_grad(), CallReplacements(dict.fromkeys(KINKS, snapped)):
        (gradients,) = torch.autograd.grad(module(rows), rows, weights, materialize_grads=True)
    return gradients


def _extreme(call: ModelCall, values: Tensor) -> tuple[Call, Tensor] | None:
    """A function that returns the largest or smallest of several numbers, as a call with one input; None for others."""
    others = (*call.arguments, *call.keywords.values())
    if call.name in PAIRS and len(others) == 1 and isinstance(others[0], Tensor):
        pair = torch.stack(torch.broadcast_tensors(values, others[0]), dim=-1)
        pick = torch.amax if call.name.startswith("max") else torch.amin
        return (lambda inputs: pick(inputs, dim=-1)), pair
    if call.name in POOLS or (call.name in EXTREMES and others):
        return (lambda inputs: _values_of(call(inputs))), values
    return None


def _with_known_gradient(call: ModelCall, values: Tensor) -> Any:
    """The call with its own gradient, marked in the graph as covered."""
    if kinks(call) is not None:
        return call_with_rule(call, values, gradient)
    if (extreme := _extreme(call, values)) is None:
        return call(values)
    select, inputs = extreme
    output, result = call_with_rule(select, inputs, gradient), call(values)
    return type(result)((output, *result[1:])) if isinstance(result, tuple) else output


def _values_of(result: Any) -> Tensor:
    """The result; its values where it is a pair of values and indices."""
    return result[0] if isinstance(result, tuple) else result  # type: ignore[no-any-return]
