"""Which number of the model a method explained and which one a metric read: these may differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from assay.core.question import Question
from assay.report.components import Component
from assay.report.text import listed, verb

if TYPE_CHECKING:
    from assay.report.board import Board

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


def readout_notes(board: Board) -> Iterator[str]:
    """Where a metric reads another number than methods explain: a sentence for all metrics with the same methods."""
    metrics_by_readouts: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for metric in board.metrics:
        methods_by_readouts: dict[tuple[str, str], list[str]] = {}
        for line in board.lines:
            cell = line.cells[metric]
            methods_by_readouts.setdefault((cell.reads, cell.explains), []).append(line.method)
        for (reads, explains), methods in methods_by_readouts.items():
            if reads:
                metrics_by_readouts.setdefault((reads, explains, tuple(methods)), []).append(metric)
    for (reads, explains, names), metrics in metrics_by_readouts.items():
        yield (
            f"{listed(metrics)} {verb('read', metrics)} the {reads}, "
            f"{listed(names)} {verb('explain', names)} the {explains}"
        )
