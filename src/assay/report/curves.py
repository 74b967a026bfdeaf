"""Mean curves, and quality against cost, as charts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from assay.report.board import Board
from assay.report.charts import Chart, Stroke, dots, lines, strokes
from assay.report.components import by_label, components
from assay.report.cost import Cost
from assay.report.reading import Curve, Reading


@dataclass(frozen=True)
class Panel:
    """The charts of one environment."""

    environment: str
    charts: tuple[Chart, ...]


def curve_panels(reading: Reading) -> tuple[Panel, ...]:
    looks = strokes(components(reading.run, "methods"))
    panels = (Panel(board.environment, tuple(_charts(reading, board, looks))) for board in reading.result.boards)
    return tuple(panel for panel in panels if panel.charts)


def frontier_panels(reading: Reading, costs: Mapping[tuple[str, str], Cost]) -> tuple[Panel, ...]:
    """The study's first metric against CPU time per explanation."""
    looks = strokes(components(reading.run, "methods"))
    panels = []
    for board in (board for board in reading.result.boards if board.metrics):
        places = {
            line.method: (1e3 * costs[board.environment, line.method].seconds, line.cells[board.metrics[0]])
            for line in board.lines
            if (board.environment, line.method) in costs
        }
        chart = dots(board.environment, places, looks, "CPU milliseconds per explanation", board.metrics[0])
        panels += [Panel(board.environment, (chart,))] if chart else []
    return tuple(panels)


def _charts(reading: Reading, board: Board, looks: Mapping[str, Stroke]) -> Iterator[Chart]:
    metrics = by_label(reading.run, "metrics")
    for label in board.metrics:
        curves = _curves(reading, board, label)
        if curves:
            yield lines(f"{label} {metrics[label].arrow}", curves, looks, *metrics[label].axes)


def _curves(reading: Reading, board: Board, metric: str) -> dict[str, Curve]:
    """By method, best first; a curve without a single point is none."""
    rows = {
        row["method"]: row
        for row in reading.run.data["rows"]
        if (row["environment"], row["metric"]) == (board.environment, metric)
    }
    found = {line.method: reading.curve(rows[line.method]) for line in board.lines}
    return {method: curve for method, curve in found.items() if curve is not None and len(curve[0])}
