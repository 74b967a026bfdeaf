"""Which number of the model a method explained and which one a metric read: these may differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.core.question import Question
from assay.report.components import Component

VALUE_NAMES = {"logits": "logit", "probabilities": "probability"}  # the readout "value" by the outputs of a model


def different_readouts(metric: Component, trial: Mapping[str, Any]) -> tuple[str, str]:
    """The explained and the read number, where they differ; empty where they are the same or not recorded."""
    environment_question, outputs = trial.get("environment_question"), str(trial.get("outputs"))
    if metric.readout_question is None or environment_question is None:
        return "", ""
    explained, read = Question(**trial["question"]), metric.readout_question.over(Question(**environment_question))
    names = _name(explained, outputs), _name(read, outputs)
    if names == ("probability", "probability"):
        temperatures = explained.temperature or 1.0, read.temperature or 1.0
        names = f"probability at temperature {temperatures[0]:g}", f"probability at temperature {temperatures[1]:g}"
    return names if names[0] != names[1] else ("", "")


def _name(question: Question, outputs: str) -> str:
    return VALUE_NAMES.get(outputs, "value") if question.readout == "value" else str(question.readout)
