"""Two runs of a model side by side: how much each function's output changes per change of its input.

DeepLIFT's rescale rule and DeepSHAP replace derivatives by such quotients, taken between a row and its reference.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from assay.core.errors import NotApplicable
from assay.kit.rules import Answer, Call, Ruled, altered, gradient


@dataclass(frozen=True, eq=False)
class Step:
    """One call of the model at some rows, and at their references."""

    call: Call
    values: Tensor  # (N, ...): references take turns, each with as many rows as the others
    reference: Tensor  # (references, ...), or with a folded axis (references * width, ...)
    count: int  # references

    @property
    def change(self) -> Tensor:
        """Of the input."""
        return self.values - self.spread(self.reference)

    @property
    def other(self) -> Tensor:
        """The output at the reference."""
        return self.spread(self.call(self.reference))

    def spread(self, reference: Tensor) -> Tensor:
        """References to rows."""
        apart = reference.reshape(self.count, 1, -1, *reference.shape[1:])
        return apart.expand(-1, len(self.values) // len(reference), *apart.shape[2:]).flatten(0, 2)

    def gradient(self, grad: Tensor) -> Tensor:
        return gradient(self.call, self.values, grad)


Quotient = Callable[[Step, Tensor], Tensor]  # step, gradient of its output -> "gradient" of its input


class Contrast(nn.Module):
    """A module in which the functions named in ``quotients`` pass on quotients against ``references``.

    Of N rows, the first N / len(references) belong to the first reference, and so on.
    """

    def __init__(
        self,
        module: nn.Module,
        references: Tensor,
        quotients: Mapping[str, Quotient],
        known: Collection[str] = (),
        spared: Collection[nn.Module] = (),
    ) -> None:
        super().__init__()
        self.module, self.references, self.quotients = module, references, quotients
        self.run = partial(Ruled, module, known=known, spared=spared)

    def forward(self, rows: Tensor) -> Tensor:
        seen: list[Tensor] = []

        def note(call: Call, values: Tensor) -> Tensor:
            seen.append(values.clone())
            return call(values)

        with torch.no_grad():
            self.run(answers=dict.fromkeys(self.quotients, note))(self.references)
        ratio, turn = len(rows) / len(self.references), iter(seen)
        answers = {name: self._answer(quotient, turn, ratio) for name, quotient in self.quotients.items()}
        return self.run(answers=answers)(rows)  # type: ignore[no-any-return]

    def _answer(self, quotient: Quotient, turn: Iterator[Tensor], ratio: float) -> Answer:
        def answer(call: Call, values: Tensor) -> Tensor:
            reference = next(turn, None)
            if reference is None or len(values) != ratio * len(reference):
                raise NotApplicable(
                    "needs a model that does the same to every row, and keeps rows along the first axis"
                )

            def rule(call: Call, values: Tensor, grad: Tensor) -> Tensor:
                return quotient(Step(call, values, reference, len(self.references)), grad)

            return altered(call, values, rule)

        return answer


def secant(step: Step, grad: Tensor) -> Tensor:
    """Rescale rule for functions made of straight pieces: change out per change in, or the slope where none is."""
    change, response = step.change, step.call(step.values) - step.other
    return torch.where(change == 0, step.gradient(grad), grad * response / change)


def smooth_secant(step: Step, grad: Tensor) -> Tensor:
    """Rescale rule for smooth functions: the slope already where rounding would spoil the quotient.

    Rounding spoils it by eps * size / change, the slope is off by about the change: equal at sqrt(eps * size), where
    taking one for the other moves the sum of attributions by a rounding error only.
    """
    change, own = step.change, step.call(step.values)
    size = torch.maximum(step.values.abs(), own.abs())
    close = change.square() <= torch.finfo(change.dtype).eps * size
    return torch.where(close, step.gradient(grad), grad * (own - step.other) / change)


def centred_secant(step: Step, grad: Tensor) -> Tensor:
    """Captum's rule for Softmax: rescale each class by itself, then subtract the mean over classes.

    Captum takes the mean over the whole batch, so that rows depend on their neighbours; here each row has its own,
    which is what Captum gives for one row at a time.
    """
    quotient = smooth_secant(step, grad)
    return quotient - quotient.flatten(1).mean(dim=1).view(-1, *[1] * (quotient.dim() - 1))


def largest(step: Step, grad: Tensor) -> Tensor:
    """Rescale rule for max pooling: the change goes to the winners, up to the larger output to the row's own, the rest
    to the reference's. Windows may overlap.
    """
    change, own, other = step.change, step.call(step.values), step.other
    top = torch.maximum(own, other)
    routed = step.gradient(grad * (top - other))
    routed = routed + gradient(step.call, step.spread(step.reference), grad * (own - top))
    return torch.where(change == 0, step.gradient(grad), routed / change)
