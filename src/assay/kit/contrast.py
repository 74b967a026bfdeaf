"""Two runs of a model side by side: how much each function's output changes per change of its input.

DeepLIFT's rescale rule and DeepSHAP replace derivatives by such quotients, taken between a row and its reference. The
model runs once at the rows and once at the references; only the way back is walked for every pair.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from assay.core.errors import NotApplicable
from assay.kit.rules import Answer, Call, Ruled, altered, gradient


@dataclass(frozen=True, eq=False)
class Step:
    """One call of the model at some rows, and at their references."""

    call: Call
    values: Tensor  # (rows, ...)
    reference: Tensor  # one for all rows (1, ...) or one each (rows, ...); with a folded axis as often as it is wide
    local: tuple[Tensor, Tensor] | None  # values as a leaf and the output, where vmap goes over the references

    @property
    def start(self) -> Tensor:
        """The input at the reference: (rows, ...), or (1, ...) for all of them."""
        if len(self.reference) in (1, len(self.values)):
            return self.reference
        return self.reference.repeat(len(self.values) // len(self.reference), *[1] * (self.values.dim() - 1))

    @property
    def change(self) -> Tensor:
        """Of the input."""
        return self.values - self.start

    def gradient(self, grad: Tensor) -> Tensor:
        """The call's own, at the rows. Inside vmap, autograd makes no new graphs, but walks those that it has."""
        if self.local is None:
            return gradient(self.call, self.values, grad)
        leaf, output = self.local
        return torch.autograd.grad(output, leaf, grad, retain_graph=True)[0]

    def gradient_there(self, grad: Tensor) -> Tensor:
        """The call's own, at the references."""
        start = self.start.expand_as(self.values)
        if self.local is None:
            return gradient(self.call, start, grad)
        found: Tensor = torch.func.vjp(self.call, start)[1](grad)[0]
        return found


Quotient = Callable[[Step, Tensor], Tensor]  # step, gradient of its output -> "gradient" of its input


@dataclass(frozen=True, eq=False)
class Contrast:
    """A module in which the functions named in ``quotients`` pass on quotients against references."""

    module: nn.Module
    quotients: Mapping[str, Quotient]
    known: Collection[str] = ()  # operations whose own gradient is used
    spared: Collection[nn.Module] = ()  # modules that are left alone

    def crossed(self, rows: Tensor, target: Tensor, references: Tensor) -> Tensor:
        """The target's "gradient" at every row against every reference: (references, *rows.shape)."""
        if 1 < len(references) == len(rows):  # unequal numbers tell where a model moves rows to another axis
            return torch.cat([self.crossed(rows, target, part) for part in (references[:1], references[1:])])
        seen = self._inputs(references)
        lengths, many = [len(rows) * len(part) // len(references) for part in seen], len(references) > 1
        rows, score, held = self._graph(rows, target, lengths, many)

        def pull(*one: Tensor) -> Tensor:
            held[:] = one
            return torch.autograd.grad(score, rows, retain_graph=True, materialize_grads=True)[0]

        if not many or not seen:
            return pull(*seen).expand(len(references), *rows.shape)
        return torch.func.vmap(pull)(*[part.unflatten(0, (len(references), -1)) for part in seen])

    def paired(self, rows: Tensor, target: Tensor, references: Tensor) -> Tensor:
        """The target's "gradient" at every row against a reference of its own: the rows' shape."""
        seen = self._inputs(references)
        rows, score, held = self._graph(rows, target, [len(part) for part in seen])
        held[:] = seen
        return torch.autograd.grad(score, rows, materialize_grads=True)[0]

    def _inputs(self, references: Tensor) -> list[Tensor]:
        """What every function named sees at the references."""
        seen: list[Tensor] = []

        def note(call: Call, values: Tensor) -> Tensor:
            seen.append(values.clone())
            return call(values)

        with torch.no_grad():
            self._run(references, dict.fromkeys(self.quotients, note))
        return seen

    def _graph(
        self, rows: Tensor, target: Tensor, lengths: list[int], many: bool = False
    ) -> tuple[Tensor, Tensor, list[Tensor]]:
        """Rows as a leaf, the sum of their scores, and where its backward pass looks for the inputs at references."""
        held: list[Tensor] = []
        rest = list(reversed(lengths))

        def answer(quotient: Quotient) -> Answer:
            def answered(call: Call, values: Tensor) -> Tensor:
                turn = len(lengths) - len(rest)
                if not rest or len(values) != rest.pop():
                    raise NotApplicable(
                        "needs a model that does the same to every row, and keeps rows along the first axis"
                    )
                local = _local(call, values) if many else None

                def rule(call: Call, values: Tensor, grad: Tensor) -> Tensor:
                    return quotient(Step(call, values, held[turn], local), grad)

                return altered(call, values, rule)

            return answered

        rows = rows.detach().requires_grad_()
        with torch.enable_grad():
            outputs = self._run(rows, {name: answer(quotient) for name, quotient in self.quotients.items()})
            score = outputs.gather(1, target.unsqueeze(1)).sum()
        return rows, score, held

    def _run(self, rows: Tensor, answers: Mapping[str, Answer]) -> Tensor:
        outputs: Tensor = Ruled(self.module, answers, self.known, self.spared)(rows)
        return outputs


def _local(call: Call, values: Tensor) -> tuple[Tensor, Tensor]:
    leaf = values.detach().clone().requires_grad_()
    return leaf, call(leaf.clone())  # it may work in place


def secant(step: Step, grad: Tensor) -> Tensor:
    """Rescale rule for functions made of straight pieces: change out per change in, or the slope where none is.

    The reference is moved by next to nothing along the slope: where it equals the row, the slope is what remains;
    anywhere else it is lost in rounding. Cheaper than telling the two apart, and nothing is copied.
    """
    nudge = torch.finfo(grad.dtype).tiny ** 0.75
    change = step.change.add_(nudge)
    response = (step.call(step.values) - step.call(step.start)).add_(nudge * slope(step))
    return response.div_(change).mul_(grad)


def smooth_secant(step: Step, grad: Tensor) -> Tensor:
    """Rescale rule for smooth functions: the slope already where rounding would spoil the quotient.

    Rounding spoils it by eps * size / change, the slope is off by about the change: equal at sqrt(eps * size), where
    taking one for the other moves the sum of attributions by a rounding error only.
    """
    change, own = step.change, step.call(step.values)
    size = torch.maximum(step.values.abs(), own.abs())
    close = change.square() <= torch.finfo(change.dtype).eps * size
    return torch.where(close, step.gradient(grad), grad * (own - step.call(step.start)) / change)


def class_secant(step: Step, grad: Tensor, least: float = 1e-6) -> Tensor:
    """shap's rule for Softmax: rescale each class by itself, as if no other class moved its output.

    Because others do, a tiny change in may come with a large change out: the quotient stands for all changes but those
    below shap's ``least``.
    """
    change, response = step.change, step.call(step.values) - step.call(step.start)
    return torch.where(change.abs() < least, step.gradient(grad), grad * response / change)


def centred_secant(step: Step, grad: Tensor) -> Tensor:
    """Captum's rule for Softmax: rescale each class by itself, then subtract the mean over classes.

    Captum takes the mean over the whole batch, so that rows depend on their neighbours; here each row has its own,
    which is what Captum gives for one row at a time.
    """
    quotient = class_secant(step, grad, 1e-10)  # Captum's
    return quotient - quotient.flatten(1).mean(dim=1).view(-1, *[1] * (quotient.dim() - 1))


def largest(step: Step, grad: Tensor) -> Tensor:
    """Rescale rule for max pooling: the change goes to the winners, up to the larger output to the row's own, the rest
    to the reference's. Windows may overlap.
    """
    change, own, other = step.change, step.call(step.values), step.call(step.start)
    top = torch.maximum(own, other)
    routed = step.gradient(grad * (top - other)) + step.gradient_there(grad * (own - top))
    return torch.where(change == 0, step.gradient(grad), routed / change)


def slope(step: Step) -> Tensor:
    """Of a function of single numbers, at the rows."""
    return step.gradient(torch.ones_like(step.values))
