"""Bars by family: the scores of one metric, methods of one family together, in the order of the study."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from assay.core.evidence import Score
from assay.report.axes import Axis, round_ends
from assay.report.board import Board
from assay.report.charts import Stroke, family_strokes
from assay.report.components import Component, by_label
from assay.report.loaded_run import LoadedRun
from assay.report.text import score_text, shortened

LETTER = 7.6  # pixels
VALUES = 250  # width
HEAD, ROW, GAP = 20, 17, 6  # heights
TOP, BOTTOM, MARGIN = 4, 30, 16
REST = "other methods"  # those without a family


@dataclass(frozen=True)
class FamilyBar:
    """The score of one method, in pixels."""

    method: str
    label: str
    stroke: Stroke
    y: float
    value: float
    low: float
    high: float
    text: str


@dataclass(frozen=True)
class Family:
    """The methods of a family, and where its name stands."""

    name: str
    y: float
    bars: tuple[FamilyBar, ...]


@dataclass(frozen=True)
class FamilyChart:
    """The scores of one metric in one environment."""

    metric: Component
    axis: Axis
    families: tuple[Family, ...]
    width: int
    height: int


@dataclass(frozen=True)
class Panel:
    """The charts of one environment."""

    environment: str
    charts: tuple[FamilyChart, ...]


def family_panels(loaded: LoadedRun) -> tuple[Panel, ...]:
    """Of all metrics that rank methods; none if the study names no families."""
    if not any(entry.family for entry in loaded.study.methods):
        return ()
    panels = (Panel(board.environment, tuple(_charts(loaded, board))) for board in loaded.result.boards)
    return tuple(panel for panel in panels if panel.charts)


def _charts(loaded: LoadedRun, board: Board) -> Iterator[FamilyChart]:
    metrics, methods = by_label(loaded.run, "metrics"), by_label(loaded.run, "methods")
    cells = {line.method: line.cells for line in board.lines}
    for metric in (metrics[name] for name in board.metrics if metrics[name].ranks_methods):
        scores = {
            name: cells[name][metric.label]
            for name in methods
            if name in cells and cells[name][metric.label].value is not None
        }
        if scores:
            yield family_chart(metric, scores, list(methods.values()))


def family_chart(metric: Component, scores: Mapping[str, Score], methods: Sequence[Component]) -> FamilyChart:
    """``scores`` have values."""
    texts = [shortened(text) for method in methods for text in (method.label, method.family or REST)]
    labels = round(LETTER * max(map(len, texts))) + MARGIN
    ends = [end for score in scores.values() for end in (score.low, score.value, score.high) if end is not None]
    axis = Axis(*round_ends(min(0.0, *ends), max(0.0, *ends)), labels, labels + VALUES)
    stroke_of, families, y = family_strokes(methods), [], TOP
    for family in sorted(dict.fromkeys(method.family for method in methods), key=lambda family: not family):
        names = [method.label for method in methods if method.family == family and method.label in scores]
        if names:
            first = y + HEAD
            bars = (
                _bar(name, scores[name], stroke_of[name], axis, first + ROW * (row + 0.5))
                for row, name in enumerate(names)
            )
            families.append(Family(shortened(family or REST), first - 6, tuple(bars)))
            y = first + ROW * len(names) + GAP
    return FamilyChart(metric, axis, tuple(families), labels + VALUES + MARGIN, y + BOTTOM)


def _bar(method: str, score: Score, stroke: Stroke, axis: Axis, y: float) -> FamilyBar:
    assert score.value is not None
    low, high = (score.value if end is None else end for end in (score.low, score.high))
    text = f"{method}: {score_text(score)}"
    return FamilyBar(method, shortened(method), stroke, y, axis(score.value), axis(low), axis(high), text)
