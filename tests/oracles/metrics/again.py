"""Models and methods that note what they are asked, for the checks of metrics that ask again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn

from assay.core.question import Question
from assay.core.setting import Setting
from assay.core.trial import Scene
from oracles.metrics.scenes import PROBABILITY


class Noting(nn.Module):
    """A model that keeps a copy of all rows that it answered, but for those of a pass that keeps gradients."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model
        self.seen: list[Tensor] = []

    def forward(self, x: Tensor) -> Tensor:
        if not x.requires_grad:
            self.seen.append(x.clone())
        answer: Tensor = self.model(x)
        return answer


@dataclass
class Method:
    """Turns (x, target, setting) into a map, and keeps what it was asked."""

    rule: Callable[[Tensor, Tensor, Setting], Tensor]
    calls: list[tuple[Tensor, Tensor, Setting]] = field(default_factory=list)

    def __call__(self, x: Tensor, target: Tensor, setting: Setting) -> Tensor:
        self.calls.append((x.clone(), target.clone(), setting))
        return self.rule(x, target, setting)


@dataclass
class Choosing(Method):
    """A method with choices: another rule for a choice made otherwise, which is noted."""

    other: Callable[[Tensor, Tensor, Setting], Tensor] = field(kw_only=True)
    chosen: list[tuple[str, Any]] = field(default_factory=list)

    def with_choice(self, parameter: str, value: Any) -> Method:
        self.chosen.append((parameter, value))
        return Method(self.other)


def noting(where: Scene) -> tuple[Scene, Noting]:
    """The same scene, its model noted."""
    model = Noting(where.setting.model)
    return replace(where, setting=replace(where.setting, model=model)), model


def asked(where: Scene, **question: Any) -> Scene:
    """The same scene under another question."""
    other = replace(PROBABILITY, **question)
    return replace(where, question=other, setting=replace(where.setting, question=other))


def slopes(x: Tensor, target: Tensor, setting: Setting) -> Tensor:
    """The gradient of the explained number (logit, or probability as the setting's question has it)."""
    points = x.detach().requires_grad_()
    with torch.enable_grad():
        outputs = setting.model(points)
        if setting.question.readout == "probability" and setting.outputs == "logits":
            outputs = outputs.softmax(dim=1)
        (found,) = torch.autograd.grad(outputs.gather(1, target[:, None]).sum(), points)
    return found


def products(x: Tensor, target: Tensor, setting: Setting) -> Tensor:
    """Input times gradient."""
    return x * slopes(x, target, setting)


def squares(x: Tensor, target: Tensor, setting: Setting) -> Tensor:
    """Input times squared gradient: linear in nothing."""
    return x * slopes(x, target, setting) ** 2


LOGIT = Question(readout="logit", temperature=1.0, baseline="zero", target="label")
