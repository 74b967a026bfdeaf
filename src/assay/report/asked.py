"""Which number of the model a method explained, and which one a metric read off it: they need not be the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.core.question import Question
from assay.report.components import Component

PLAIN = {"logits": "logit", "probabilities": "probability"}  # what the value of such a model is


def two_numbers(metric: Component, trial: Mapping[str, Any]) -> tuple[str, str]:
    """What was explained and what was read, where these are two numbers; empty where they are one, or nobody knows."""
    asked, outputs = trial.get("environment_question"), str(trial.get("outputs"))
    if metric.read is None or asked is None:
        return "", ""
    explained, read = Question(**trial["question"]), metric.read.over(Question(**asked))
    names = _name(explained, outputs), _name(read, outputs)
    if names == ("probability", "probability"):
        warmth = explained.temperature or 1.0, read.temperature or 1.0
        names = f"probability at temperature {warmth[0]:g}", f"probability at temperature {warmth[1]:g}"
    return names if names[0] != names[1] else ("", "")


def _name(question: Question, outputs: str) -> str:
    return PLAIN.get(outputs, "value") if question.readout == "value" else str(question.readout)
