"""Pictures of agreement: each method's score by truth against its score by another metric."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from assay.core.evidence import Score
from assay.report.agreements import AgreementRow, AgreementTable
from assay.report.axes import Axis
from assay.report.board import Board
from assay.report.charts import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Chart, Dot, Stroke, scale, strokes
from assay.report.components import by_label, components
from assay.report.loaded_run import LoadedRun


@dataclass(frozen=True)
class AgreementSection:
    """A table of agreement with its pictures."""

    table: AgreementTable
    charts: tuple[Chart, ...]


def agreement_sections(loaded: LoadedRun) -> tuple[AgreementSection, ...]:
    return tuple(AgreementSection(table, tuple(_charts(loaded, table))) for table in loaded.result.agreements)


def _charts(loaded: LoadedRun, table: AgreementTable) -> Iterator[Chart]:
    boards = {board.environment: board for board in loaded.result.boards}
    stroke_of, metrics = strokes(components(loaded.run, "methods")), by_label(loaded.run, "metrics")
    for row in table.rows:
        title = f"{row.environment}: {row.metric} {metrics[row.metric].arrow}"
        chart = scatter(title, row, boards[row.environment], stroke_of)
        if chart is not None:
            yield chart


def scatter(title: str, row: AgreementRow, board: Board, stroke_of: dict[str, Stroke]) -> Chart | None:
    """The methods that are compared, with the intervals of the metric; None if there are none."""
    cells = {
        line.method: (line.cells[row.truth], line.cells[row.metric])
        for line in board.lines
        if line.method in row.agreement.methods
    }
    x_axis = _axis([truth for truth, _ in cells.values()], LEFT, WIDTH - RIGHT, without_intervals=True)
    y_axis = _axis([cell for _, cell in cells.values()], HEIGHT - BOTTOM, TOP)
    if x_axis is None or y_axis is None:
        return None
    dots = tuple(_dot(name, stroke_of[name], x_axis, y_axis, *pair) for name, pair in cells.items())
    return Chart(title, x_axis, y_axis, row.truth, row.metric, dots=dots)


def _axis(cells: list[Score], start: float, stop: float, without_intervals: bool = False) -> Axis | None:
    if without_intervals:
        cells = [Score(cell.value) for cell in cells]
    ends = scale(cells)
    return ends and Axis(ends.low, ends.high, start, stop)


def _dot(method: str, stroke: Stroke, x_axis: Axis, y_axis: Axis, truth: Score, cell: Score) -> Dot:
    assert truth.value is not None
    assert cell.value is not None
    low = cell.value if cell.low is None else cell.low
    high = cell.value if cell.high is None else cell.high
    return Dot(method, stroke, x_axis(truth.value), y_axis(cell.value), y_axis(low), y_axis(high))
