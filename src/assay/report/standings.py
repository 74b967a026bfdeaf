"""Leaderboards and verdicts, ready to be laid out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from assay.report.axes import Axis
from assay.report.board import Board, Cell
from assay.report.charts import Bar, bar, scale
from assay.report.components import Component, by_label
from assay.report.reading import Reading
from assay.report.unbeaten import Unbeaten, unbeaten
from assay.stats.faithfulness import Verdict


@dataclass(frozen=True)
class Column:
    metric: Component
    axis: Axis | None
    best: float | None  # the leading rank: ties share it


@dataclass(frozen=True)
class Entry:
    """One cell of a leaderboard."""

    cell: Cell
    bar: Bar | None
    best: bool


@dataclass(frozen=True)
class Row:
    method: Component
    entries: tuple[Entry, ...]
    mean_rank: float | None


@dataclass(frozen=True)
class Standing:
    """One environment's leaderboard."""

    environment: Component
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    unbeaten: tuple[Unbeaten, ...]
    ceilings: Mapping[str, float]  # by metric label
    two_numbers: tuple[str, ...]  # sentences: who explained another number than was read


@dataclass(frozen=True)
class Test:
    """One faithfulness test."""

    metric: str
    gamma: float
    environments: tuple[str, ...]
    rows: tuple[tuple[Component, Verdict, Mapping[str, Cell]], ...]  # cells by environment


def standings(reading: Reading) -> tuple[Standing, ...]:
    environments = by_label(reading.run, "environments")
    return tuple(_standing(reading, board, environments[board.environment]) for board in reading.result.boards)


def _standing(reading: Reading, board: Board, environment: Component) -> Standing:
    metrics, methods = by_label(reading.run, "metrics"), by_label(reading.run, "methods")
    columns = tuple(_column(board, metrics[label]) for label in board.metrics)
    rows = tuple(
        Row(methods[line.method], tuple(_entry(line.cells[c.metric.label], c) for c in columns), line.mean_rank)
        for line in board.lines
    )
    behind = tuple(unbeaten(reading.run, board))
    return Standing(environment, columns, rows, behind, board.ceilings(), tuple(board.two_numbers()))


def _column(board: Board, metric: Component) -> Column:
    cells = [line.cells[metric.label] for line in board.lines]
    return Column(metric, scale(cells), min((cell.rank for cell in cells if cell.rank is not None), default=None))


def _entry(cell: Cell, column: Column) -> Entry:
    return Entry(cell, bar(cell, column.axis), cell.rank is not None and cell.rank == column.best)


def tests(reading: Reading) -> tuple[Test, ...]:
    found = reading.result.verdicts
    return tuple(_test(reading, metric, gamma, verdicts) for (metric, gamma), verdicts in found.items() if verdicts)


def _test(reading: Reading, metric: str, gamma: float, verdicts: tuple[Verdict, ...]) -> Test:
    methods = by_label(reading.run, "methods")
    cells: dict[str, dict[str, Cell]] = {}
    for board, line, label, cell in reading.result.cells():
        if label == metric:
            cells.setdefault(line.method, {})[board.environment] = cell
    environments = tuple(board.environment for board in reading.result.boards if metric in board.metrics)
    rows = tuple((methods[found.method], found, cells.get(found.method, {})) for found in verdicts)
    return Test(metric, gamma, environments, rows)
