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


def readout(question: Question) -> nn.Module:
    """The module that turns outputs into what the question asks about."""
    match question.readout:
        case "logit" | "value":
            return nn.Identity()
        case "margin":
            return Margin()
        case "probability":
            layers: list[nn.Module] = [nn.Softmax(dim=1)]
            if question.temperature not in (None, 1.0):
                layers.insert(0, Temperature(float(question.temperature)))  # type: ignore[arg-type]
            return nn.Sequential(*layers)
    raise ValueError(f"unknown readout {question.readout!r}")


def asked(model: nn.Module, question: Question) -> nn.Module:
    """Model and readout as one module; ``model`` is shared, not copied."""
    return nn.Sequential(OrderedDict(model=model, readout=readout(question)))
