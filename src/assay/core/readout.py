"""Readouts: the number of the model that is explained, as modules.

They are modules, not lines of code, because methods that rewrite the backward pass (DeepLIFT, LRP) must see them. Each
maps the model's output (N, C) to (N, C); the explained class is picked afterwards.
"""

from __future__ import annotations

from collections import OrderedDict

import torch
from torch import Tensor, nn

from assay.core.errors import NotApplicable
from assay.core.question import Question


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


def asked(model: nn.Module, question: Question, outputs: str = "logits") -> nn.Module:
    """Model and readout as one module; ``model`` is shared, not copied."""
    return nn.Sequential(OrderedDict(model=model, readout=readout(question, outputs)))
