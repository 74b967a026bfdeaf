"""Mean curves, and quality against cost, as charts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from assay.report.board import Board
from assay.report.charts import Chart, Stroke, dots, lines, strokes
from assay.report.components import by_label, components
from assay.report.cost import Cost
from assay.report.loaded_run import Curve, LoadedRun


@dataclass(frozen=True)
class Panel:
    """The charts of one environment."""

    environment: str
    charts: tuple[Chart, ...]


def curve_panels(loaded: LoadedRun) -> tuple[Panel, ...]:
    stroke_of = strokes(components(loaded.run, "methods"))
    panels = (Panel(board.environment, tuple(_charts(loaded, board, stroke_of))) for board in loaded.result.boards)
    return tuple(panel for panel in panels if panel.charts)


def frontier_panels(loaded: LoadedRun, costs: Mapping[tuple[str, str], Cost]) -> tuple[Panel, ...]:
    """The study's first metric against CPU time per explanation."""
    stroke_of = strokes(components(loaded.run, "methods"))
    panels = []
    for board in (board for board in loaded.result.boards if board.metrics):
        points = {
            line.method: (1e3 * costs[board.environment, line.method].seconds, line.cells[board.metrics[0]])
            for line in board.lines
            if (board.environment, line.method) in costs
        }
        chart = dots(board.environment, points, stroke_of, "CPU milliseconds per explanation", board.metrics[0])
        panels += [Panel(board.environment, (chart,))] if chart else []
    return tuple(panels)


def _charts(loaded: LoadedRun, board: Board, stroke_of: Mapping[str, Stroke]) -> Iterator[Chart]:
    metrics = by_label(loaded.run, "metrics")
    for label in board.metrics:
        curves = _curves(loaded, board, label)
        if curves:
            yield lines(f"{label} {metrics[label].arrow}", curves, stroke_of, *metrics[label].axes)


def _curves(loaded: LoadedRun, board: Board, metric: str) -> dict[str, Curve]:
    """By method, best first; empty curves are left out."""
    rows = {
        row["method"]: row
        for row in loaded.run.data["rows"]
        if (row["environment"], row["metric"]) == (board.environment, metric)
    }
    curves = {line.method: loaded.curve(rows[line.method]) for line in board.lines}
    return {method: curve for method, curve in curves.items() if curve is not None and len(curve[0])}
