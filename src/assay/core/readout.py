"""Readouts: the number of the model that is explained, as modules.

They are modules, not lines of code, because methods that rewrite the backward pass (DeepLIFT, LRP) must see them. Each
maps the model's output (N, C) to (N, C); the explained class is picked afterwards.
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
        own = torch.eye(logits.shape[1], dtype=torch.bool, device=logits.device)
        others = logits.unsqueeze(1).masked_fill(own, -torch.inf)  # (N, C, C)
        return logits - others.amax(dim=2)


def readout(question: Question, outputs: str = "logits") -> nn.Module:
    """The module that turns a model's outputs into what the question asks about; NotApplicable where it cannot."""
    if question.readout == "value":
        return nn.Identity()
    if question.readout == "probability" and outputs == "probabilities":
        if question.temperature not in (None, 1.0):
            raise NotApplicable("a temperature needs logits, and this model answers with probabilities")
        return nn.Identity()
    if outputs != "logits":
        raise NotApplicable(f"the {question.readout} readout needs logits, and this model answers with {outputs}")
    if question.readout == "probability":
        return nn.Sequential(*_tempered(question.temperature), nn.Softmax(dim=1))
    return {"logit": nn.Identity, "margin": Margin}[str(question.readout)]()


def _tempered(temperature: float | None) -> list[nn.Module]:
    return [] if temperature in (None, 1.0) else [Temperature(float(temperature))]  # type: ignore[arg-type]


class _NoWayBack(torch.autograd.Function):
    """The answer as it is; whoever follows it back to the input hears that there is no way."""

    @staticmethod
    def forward(_input: Tensor, answer: Tensor) -> Tensor:
        return answer.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise NotApplicable(NO_GRADIENTS)


def _no_way_back(_module: nn.Module, inputs: tuple[Tensor, ...], answer: Tensor) -> Tensor:
    return _NoWayBack.apply(inputs[0], answer)  # type: ignore[no-any-return,no-untyped-call]


def asked(model: nn.Module, question: Question, outputs: str = "logits", differentiable: bool = True) -> nn.Module:
    """Model and readout as one module, in evaluation mode; ``model`` is shared, not copied.

    Code that knows no query asks for gradients as of any module: where there are none, that is NotApplicable.
    """
    whole = nn.Sequential(OrderedDict(model=model, readout=readout(question, outputs).eval()))
    whole.training = False  # and not whole.eval(): the model is somebody's, and stays as it is
    if not differentiable:
        whole.register_forward_hook(_no_way_back)
    return whole
