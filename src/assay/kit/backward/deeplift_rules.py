"""Rules of DeepLIFT and DeepSHAP: the change of a function's output per change of its input.

These quotients, taken between a row and its reference, replace derivatives. The model runs once at the rows and once at
the references; only the backward pass runs for every pair.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from assay.core.errors import NotApplicable
from assay.kit.backward.rules import Call, Replacement, RuledModule, call_with_rule, gradient


@dataclass(frozen=True, eq=False)
class ComparedCall:
    """One call of the model, at some rows and at their references."""

    call: Call
    values: Tensor  # (rows, ...)
    reference: Tensor  # (1, ...) for all rows, (rows, ...) one each, or (T, ...) if the model folds an axis into rows
    local: tuple[Tensor, Tensor] | None  # a leaf with these values and its output; only where vmap runs over references

    @property
    def reference_values(self) -> Tensor:
        """The call's input at the reference: (rows, ...), or (1, ...) for all of them."""
        if len(self.reference) in (1, len(self.values)):
            return self.reference
        return self.reference.repeat(len(self.values) // len(self.reference), *[1] * (self.values.dim() - 1))

    @property
    def change(self) -> Tensor:
        """The change of the input."""
        return self.values - self.reference_values

    def gradient(self, grad: Tensor) -> Tensor:
        """The call's own gradient at the rows. Inside vmap, autograd can only use a graph that exists already."""
        if self.local is None:
            return gradient(self.call, self.values, grad)
        leaf, output = self.local
        return torch.autograd.grad(output, leaf, grad, retain_graph=True)[0]

    def gradient_at_reference(self, grad: Tensor) -> Tensor:
        """The call's own gradient at the references."""
        reference_values = self.reference_values.expand_as(self.values)
        if self.local is None:
            return gradient(self.call, reference_values, grad)
        at_reference: Tensor = torch.func.vjp(self.call, reference_values)[1](grad)[0]
        return at_reference


Quotient = Callable[[ComparedCall, Tensor], Tensor]  # compared call, gradient of its output -> "gradient" of its input


@dataclass(frozen=True, eq=False)
class RescaledModule:
    """A module in whose backward pass the functions named in ``quotients`` have quotients in place of derivatives."""

    module: nn.Module
    quotients: Mapping[str, Quotient]
    allowed: Collection[str] = ()  # operations that keep their own gradient
    exempt: Collection[nn.Module] = ()  # modules in which no quotients are used

    def gradients_to_all_references(self, rows: Tensor, target: Tensor, references: Tensor) -> Tensor:
        """The target's "gradient" at every row with every reference: (references, *rows.shape)."""
        if 1 < len(references) == len(rows):  # ``_graph`` would not notice a model that moves rows to another axis
            return torch.cat(
                [self.gradients_to_all_references(rows, target, part) for part in (references[:1], references[1:])]
            )
        reference_inputs = self._inputs(references)
        lengths = [len(rows) * len(part) // len(references) for part in reference_inputs]
        use_vmap = len(references) > 1
        rows, score, reference_slots = self._graph(rows, target, lengths, use_vmap)

        def gradient_to_reference(*inputs: Tensor) -> Tensor:
            reference_slots[:] = inputs
            return torch.autograd.grad(score, rows, retain_graph=True, materialize_grads=True)[0]

        if not use_vmap or not reference_inputs:
            return gradient_to_reference(*reference_inputs).expand(len(references), *rows.shape)
        inputs_by_reference = [part.unflatten(0, (len(references), -1)) for part in reference_inputs]
        return torch.func.vmap(gradient_to_reference)(*inputs_by_reference)

    def gradients_to_own_reference(self, rows: Tensor, target: Tensor, references: Tensor) -> Tensor:
        """The target's "gradient" at every row with its own reference: the rows' shape."""
        reference_inputs = self._inputs(references)
        rows, score, reference_slots = self._graph(rows, target, [len(part) for part in reference_inputs])
        reference_slots[:] = reference_inputs
        return torch.autograd.grad(score, rows, materialize_grads=True)[0]

    def _inputs(self, references: Tensor) -> list[Tensor]:
        """The input of every call named in ``quotients``, at the references."""
        inputs: list[Tensor] = []

        def record(call: Call, values: Tensor) -> Tensor:
            inputs.append(values.clone())
            return call(values)

        with torch.no_grad():
            self._run(references, dict.fromkeys(self.quotients, record))
        return inputs

    def _graph(
        self, rows: Tensor, target: Tensor, lengths: list[int], use_vmap: bool = False
    ) -> tuple[Tensor, Tensor, list[Tensor]]:
        """Rows as a leaf, the sum of their scores, and the list from which its backward pass reads reference inputs.

        ``lengths`` are the numbers of rows that the calls must have, in order.
        """
        reference_slots: list[Tensor] = []
        remaining = list(reversed(lengths))

        def replacement(quotient: Quotient) -> Replacement:
            def replaced(call: Call, values: Tensor) -> Tensor:
                index = len(lengths) - len(remaining)
                if not remaining or len(values) != remaining.pop():
                    raise NotApplicable(
                        "needs a model that does the same to every row, and keeps rows along the first axis"
                    )
                local = _local(call, values) if use_vmap else None

                def rule(call: Call, values: Tensor, grad: Tensor) -> Tensor:
                    return quotient(ComparedCall(call, values, reference_slots[index], local), grad)

                return call_with_rule(call, values, rule)

            return replaced

        rows = rows.detach().requires_grad_()
        with torch.enable_grad():
            outputs = self._run(rows, {name: replacement(quotient) for name, quotient in self.quotients.items()})
            score = outputs.gather(1, target.unsqueeze(1)).sum()
        return rows, score, reference_slots

    def _run(self, rows: Tensor, replacements: Mapping[str, Replacement]) -> Tensor:
        outputs: Tensor = RuledModule(self.module, replacements, self.allowed, self.exempt)(rows)
        return outputs


def _local(call: Call, values: Tensor) -> tuple[Tensor, Tensor]:
    """A leaf with these values, and the call's output for it."""
    leaf = values.detach().clone().requires_grad_()
    return leaf, call(leaf.clone())  # the call may work in place


def secant(compared: ComparedCall, grad: Tensor) -> Tensor:
    """Rescale rule for piecewise linear functions: output change per input change, or the slope where neither changes.

    The reference is shifted by a tiny amount along the slope: where it equals the row, the quotient is the slope;
    elsewhere the shift is lost in rounding. This is cheaper than separating the two cases, and copies nothing.
    """
    nudge = torch.finfo(grad.dtype).tiny ** 0.75
    change = compared.change.add_(nudge)
    response = (compared.call(compared.values) - compared.call(compared.reference_values)).add_(nudge * slope(compared))
    return response.div_(change).mul_(grad)


def smooth_secant(compared: ComparedCall, grad: Tensor) -> Tensor:
    """Rescale rule for smooth functions: the slope wherever rounding would dominate the quotient.

    The quotient's rounding error is eps * size / change, the slope's error about the change. They are equal at
    sqrt(eps * size), where the choice changes the sum of attributions by a rounding error only.
    """
    change, output = compared.change, compared.call(compared.values)
    size = torch.maximum(compared.values.abs(), output.abs())
    close = change.square() <= torch.finfo(change.dtype).eps * size
    return torch.where(
        close, compared.gradient(grad), grad * (output - compared.call(compared.reference_values)) / change
    )


def class_secant(compared: ComparedCall, grad: Tensor, least: float = 1e-6) -> Tensor:
    """shap's rule for Softmax: rescale each class by itself, as if no other class changed its output.

    Since others do, a tiny input change may come with a large output change. The slope is used only for input changes
    below ``least``, by default shap's.
    """
    change, response = compared.change, compared.call(compared.values) - compared.call(compared.reference_values)
    return torch.where(change.abs() < least, compared.gradient(grad), grad * response / change)


def centred_secant(compared: ComparedCall, grad: Tensor) -> Tensor:
    """Captum's rule for Softmax: rescale each class by itself, then subtract the mean over classes.

    Captum takes the mean over the whole batch, so that rows depend on each other. Here each row has its own mean,
    which is what Captum computes for one row at a time.
    """
    quotient = class_secant(compared, grad, 1e-10)  # Captum's threshold
    return quotient - quotient.flatten(1).mean(dim=1).view(-1, *[1] * (quotient.dim() - 1))


def max_secant(compared: ComparedCall, grad: Tensor) -> Tensor:
    """Rescale rule for max pooling; windows may overlap.

    From the reference's output up to the larger of both, the change goes to the row's largest entry; the rest goes to
    the reference's largest entry.
    """
    change = compared.change
    output, reference_output = compared.call(compared.values), compared.call(compared.reference_values)
    top = torch.maximum(output, reference_output)
    routed = compared.gradient(grad * (top - reference_output)) + compared.gradient_at_reference(grad * (output - top))
    return torch.where(change == 0, compared.gradient(grad), routed / change)


def slope(compared: ComparedCall) -> Tensor:
    """The slope of an elementwise function, at the rows."""
    return compared.gradient(torch.ones_like(compared.values))
