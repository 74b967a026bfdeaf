"""Guided backpropagation (Springenberg et al., 2015)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from assay.core.errors import NotApplicable
from assay.core.query import Query
from assay.kit.backward.graph import nonlinear_operations
from assay.kit.backward.rules import Call, CallReplacements, CustomGradient, call_with_rule


@dataclass(frozen=True)
class GuidedBackprop:
    """The gradient, but every ReLU passes on only positive gradients, and only where its input was positive.

    ReLUs may be modules or functions, in place or not. The paper's rule is about ReLU: everything else (pooling,
    softmax, other activations) passes on its ordinary gradient, as in Captum. A model without any ReLU is not
    applicable, because it would get its plain gradient under another name.
    """

    paper: ClassVar[str] = "Springenberg et al., 2015"

    def __call__(self, query: Query) -> Tensor:
        return query.gradient_through(Guided(query.module), query.x)


class Guided(nn.Module):
    """A module whose ReLUs follow the rule; NotApplicable if there is none, or one that cannot be replaced."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, rows: Tensor) -> Tensor:
        with CallReplacements({"relu": _guided}):
            output: Tensor = self.module(rows)
        operations = nonlinear_operations(output, rows, allowed=())
        if "Relu" in operations:
            raise NotApplicable("needs ReLUs that are called from Python, and the model has one that is not")
        if CustomGradient.__name__ not in operations:
            raise NotApplicable("needs a ReLU between input and output, and the model has none")
        return output


def _guided(call: Call, values: Tensor) -> Tensor:
    return call_with_rule(call, values, _positive)


def _positive(_call: Call, values: Tensor, grad: Tensor) -> Tensor:
    return grad.clamp(min=0) * (values > 0)
