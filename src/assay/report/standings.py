"""Leaderboards and verdicts, ready to be laid out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.report.axes import Axis
from assay.report.board import Board, Cell
from assay.report.charts import Bar, bar, scale
from assay.report.components import Component, by_label
from assay.report.promises import Said
from assay.report.reading import Reading
from assay.report.unbeaten import Unbeaten, unbeaten
from assay.stats.faithfulness import Verdict
from assay.stats.ranks import place


@dataclass(frozen=True)
class Column:
    metric: Component
    axis: Axis | None
    ranks: tuple[float, ...]  # of all that have one; ties share their average


@dataclass(frozen=True)
class Entry:
    """One cell of a leaderboard."""

    cell: Cell
    bar: Bar | None
    best: bool
    place: str = ""  # 1, or "1 =" where several share it; empty for what is not ranked


@dataclass(frozen=True)
class Row:
    method: Component
    entries: tuple[Entry, ...]
    mean_rank: float | None
    said: Said


@dataclass(frozen=True)
class Standing:
    """One environment's leaderboard."""

    environment: Component
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    unbeaten: tuple[Unbeaten, ...]
    ceilings: Mapping[str, float]  # by metric label
    promising: bool  # some method says what its attribution adds up to
    notes: tuple[str, ...]  # about intervals


@dataclass(frozen=True)
class Test:
    """One faithfulness test."""

    metric: str
    gamma: float
    rule: str
    checks: tuple[Mapping[str, Any], ...]
    environments: tuple[str, ...]
    rows: tuple[tuple[Component, Verdict], ...]


def standings(reading: Reading) -> tuple[Standing, ...]:
    environments = by_label(reading.run, "environments")
    return tuple(_standing(reading, board, environments[board.environment]) for board in reading.result.boards)


def _standing(reading: Reading, board: Board, environment: Component) -> Standing:
    metrics, methods = by_label(reading.run, "metrics"), by_label(reading.run, "methods")
    columns = tuple(_column(board, metrics[label]) for label in board.metrics)
    rows = tuple(
        Row(
            methods[line.method],
            tuple(_entry(line.cells[c.metric.label], c) for c in columns),
            line.mean_rank,
            line.said,
        )
        for line in board.lines
    )
    return Standing(
        environment,
        columns,
        rows,
        tuple(unbeaten(reading.run, board)),
        board.ceilings(),
        board.promising,
        board.notes(),
    )


def _column(board: Board, metric: Component) -> Column:
    cells = [line.cells[metric.label] for line in board.lines]
    return Column(metric, scale(cells), tuple(cell.rank for cell in cells if cell.rank is not None))


def _entry(cell: Cell, column: Column) -> Entry:
    if cell.rank is None:
        return Entry(cell, bar(cell, column.axis), best=False)
    return Entry(cell, bar(cell, column.axis), cell.rank == min(column.ranks), place(cell.rank, column.ranks))


def tests(reading: Reading) -> tuple[Test, ...]:
    found = reading.result.verdicts
    return tuple(
        _test(reading, test, found[test["metric"], float(test["gamma"])]) for test in reading.study["faithfulness"]
    )


def _test(reading: Reading, test: Mapping[str, Any], verdicts: tuple[Verdict, ...]) -> Test:
    methods, places = by_label(reading.run, "methods"), [board.environment for board in reading.result.boards]
    tested = {place for verdict in verdicts for place in verdict.tested_in}
    return Test(
        test["metric"],
        float(test["gamma"]),
        test.get("rule", "interval"),
        tuple(test.get("checks", ())),
        tuple(place for place in places if place in tested),
        tuple((methods[verdict.method], verdict) for verdict in verdicts),
    )
