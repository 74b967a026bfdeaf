"""Functions made of straight pieces: where a call of the model bends.

Known are functions of one number with kinks at fixed places (ReLU, absolute value, clamping, ...) and functions that
give the largest or smallest of several numbers (pooling, maxima). A number counts as being on a kink when it is that
close to it that rounding may have moved it; what that may change is as small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from assay.core.errors import NotApplicable
from assay.kit.rules import Answers, Asked, Call, Ruled, altered, gradient

SLACK = 1e-13  # of the largest number met so far in the row: rounding errors of doubles are some 1e-16 of it

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
NAMES = frozenset((*KINKS, *POOLS, *EXTREMES, *PAIRS))


def require_straight(module: nn.Module, row: Tensor) -> None:
    """NotApplicable where the model computes something that is not made of known straight pieces."""
    with torch.enable_grad():
        Ruled(module, dict.fromkeys(NAMES, _shown), ("MaskedFill",))(row.detach().requires_grad_())


def differences(asked: Asked, values: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Numbers at both ends of lines, the first half of the rows and the second: the call bends where one is 0 between.

    Between the ends, the call's input is linear. For a number with a kink it is the distance from it; for the largest
    of several, by how much the winner of one end is ahead of the winner of the other.
    """
    if (places := kinks(asked)) is not None:
        for place in places:
            near, far = (values - place if place else values).chunk(2)
            yield near, far
    elif (largest := _largest(asked, values)) is not None:
        call, inputs = largest
        near, far = inputs.nan_to_num().chunk(2)
        own, slope = torch.func.jvp(call, (near,), (far - near,))[:2]
        other, back = torch.func.jvp(call, (far,), (near - far,))[:2]
        yield own - (other + back), (own + slope) - other


def kinks(asked: Asked) -> tuple[float, ...] | None:
    """Where a function of one number bends; None if it is none, or if the place is not one number."""
    if asked.name not in KINKS:
        return None
    places = [place for place in KINKS[asked.name](*asked.rest, **asked.named) if place is not None]
    return None if any(isinstance(place, Tensor) for place in places) else tuple(places)


class Slack:
    """How far from a kink a number still counts as being on it."""

    def __init__(self, rows: int) -> None:
        self.rows, self.largest = rows, torch.zeros(())

    def __call__(self, values: Tensor) -> Tensor:
        """(rows,), by the largest number met so far in each row."""
        if len(values) % self.rows:
            raise NotApplicable("needs a model that keeps rows along the first axis")
        size = self._largest(values.detach())
        if not bool(size.isfinite().all()):
            size = self._largest(values.detach().nan_to_num(0.0, 0.0, 0.0))  # infinities: what a readout masks
        self.largest = torch.maximum(size, self.largest.to(size))
        return SLACK * self.largest

    def _largest(self, values: Tensor) -> Tensor:
        axes = tuple(range(1, values.dim()))
        size = torch.maximum(values.amax(axes), -values.amin(axes)) if axes else values.abs()
        return size.view(self.rows, -1).amax(dim=1)


def beside(values: Tensor, per_row: Tensor) -> Tensor:
    """A number per row, as something to broadcast with values; a row may take several places of their first axis."""
    return per_row.repeat_interleave(len(values) // len(per_row)).view(-1, *[1] * (values.dim() - 1))


def pullback(module: nn.Module, rows: Tensor, weights: Tensor) -> Tensor:
    """The gradient of the weighted outputs (N, C) at rows (N, ...).

    A number that is on a kink up to rounding passes on what autograd does exactly at the kink: rounding, and with it
    the size of a batch, decides nothing.
    """
    rows = rows.detach().requires_grad_()
    slack = Slack(len(rows))

    def settled(asked: Asked, values: Tensor) -> Tensor:
        places, width = kinks(asked), slack(values)
        if places is None:
            return asked(values)

        def rule(call: Call, values: Tensor, grad: Tensor) -> Tensor:
            for place in places:
                distance = (values - place if place else values).abs()
                values = values.masked_fill(distance <= beside(values, width), place)
            return gradient(call, values, grad)

        return altered(asked, values, rule)

    with torch.enable_grad(), Answers(dict.fromkeys(KINKS, settled)):
        (found,) = torch.autograd.grad(module(rows), rows, weights, materialize_grads=True)
    return found


def _largest(asked: Asked, values: Tensor) -> tuple[Call, Tensor] | None:
    """A function that gives one of several numbers, as a call with one input; None for other ones."""
    arguments = (*asked.rest, *asked.named.values())
    if asked.name in PAIRS and len(arguments) == 1 and isinstance(arguments[0], Tensor):
        both = torch.stack(torch.broadcast_tensors(values, arguments[0]), dim=-1)
        pick = torch.amax if asked.name.startswith("max") else torch.amin
        return (lambda inputs: pick(inputs, dim=-1)), both
    if asked.name in POOLS or (asked.name in EXTREMES and arguments):
        return (lambda inputs: _first(asked(inputs))), values
    return None


def _shown(asked: Asked, values: Tensor) -> Any:
    """The call, as something that the graph shows to be known."""
    if kinks(asked) is not None:
        return altered(asked, values, gradient)
    if (largest := _largest(asked, values)) is None:
        return asked(values)
    call, inputs = largest
    found, made = altered(call, inputs, gradient), asked(values)
    return type(made)((found, *made[1:])) if isinstance(made, tuple) else found


def _first(made: Any) -> Tensor:
    """The numbers of a pair of numbers and places."""
    return made[0] if isinstance(made, tuple) else made  # type: ignore[no-any-return]
