"""Readouts, as modules: the number of the model that is explained.

They are modules because methods that rewrite the backward pass (DeepLIFT, LRP) must see them. Each maps the model's
output (N, C) to (N, C); the explained class is selected afterwards.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import torch
from torch import Tensor, nn

from assay.core.errors import NotApplicable
from assay.core.question import Question

NO_GRADIENTS = "needs gradients, and this model has none"


class Temperature(nn.Module):
    """Logits divided by a temperature."""

    def __init__(self, temperature: float) -> None:
        super().__init__()
        self.temperature = temperature

    def forward(self, logits: Tensor) -> Tensor:
        return logits / self.temperature


class Margin(nn.Module):
    """Each class's logit minus the largest other logit."""

    def forward(self, logits: Tensor) -> Tensor:
        if logits.shape[1] < 2:
            raise NotApplicable("the margin readout needs a model with at least two outputs")
        diagonal = torch.eye(logits.shape[1], dtype=torch.bool, device=logits.device)
        others = logits.unsqueeze(1).masked_fill(diagonal, -torch.inf)  # (N, C, C)
        return logits - others.amax(dim=2)


def readout(question: Question, outputs: str = "logits") -> nn.Module:
    """The module that turns a model's outputs into the question's readout; NotApplicable if they have none."""
    if question.readout == "value":
        return nn.Identity()
    if question.readout == "probability" and outputs == "probabilities":
        if question.temperature not in (None, 1.0):
            raise NotApplicable("a temperature needs logits, and this model answers with probabilities")
        return nn.Identity()
    if outputs != "logits":
        raise NotApplicable(f"the {question.readout} readout needs logits, and this model answers with {outputs}")
    if question.readout == "probability":
        return nn.Sequential(*_temperature_modules(question.temperature), nn.Softmax(dim=1))
    return {"logit": nn.Identity, "margin": Margin}[str(question.readout)]()


def _temperature_modules(temperature: float | None) -> list[nn.Module]:
    return [] if temperature in (None, 1.0) else [Temperature(float(temperature))]  # type: ignore[arg-type]


class _NoGradients(torch.autograd.Function):
    """The identity on the answer; its backward pass raises NotApplicable."""

    @staticmethod
    def forward(_input: Tensor, answer: Tensor) -> Tensor:
        return answer.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise NotApplicable(NO_GRADIENTS)


def _refuse_gradients(_module: nn.Module, inputs: tuple[Tensor, ...], answer: Tensor) -> Tensor:
    return _NoGradients.apply(inputs[0], answer)  # type: ignore[no-any-return,no-untyped-call]


def explained_module(
    model: nn.Module, question: Question, outputs: str = "logits", differentiable: bool = True
) -> nn.Module:
    """Model and readout as one module, in evaluation mode; ``model`` is shared, not copied.

    Foreign code may ask this module for gradients without a query; NotApplicable where the model has none.
    """
    module = nn.Sequential(OrderedDict(model=model, readout=readout(question, outputs).eval()))
    module.training = False  # not module.eval(): that would change the user's model
    if not differentiable:
        module.register_forward_hook(_refuse_gradients)
    return module
