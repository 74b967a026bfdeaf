"""Leaderboards and faithfulness tests, as the page's templates need them."""

from __future__ import annotations

from dataclasses import dataclass

from assay.core.evidence import Score
from assay.core.floors import Check
from assay.report.axes import Axis
from assay.report.board import Board, Line
from assay.report.charts import Bar, bar, scale, strokes
from assay.report.components import Component, by_label
from assay.report.controls import UnbeatenControl, unbeaten_controls
from assay.report.critical_differences import Diagram, diagrams
from assay.report.loaded_run import LoadedRun
from assay.report.remarks import MethodRemarks
from assay.stats.faithfulness import Verdict
from assay.stats.ranks import rank_label
from assay.stats.units import deviation
from assay.studies.study import Faithfulness


@dataclass(frozen=True)
class Column:
    metric: Component
    axis: Axis | None
    ranks: tuple[float, ...]  # of all ranked cells; ties share their average


@dataclass(frozen=True)
class Entry:
    """One cell of a leaderboard."""

    cell: Score
    bar: Bar | None
    best: bool
    deviation: float | None  # standard deviation over seeds; None for fewer than two
    rank_label: str = ""  # "1", or "1 =" where several share it; empty without a rank
    letters: str = ""  # two methods that are not separated have one in common


@dataclass(frozen=True)
class Row:
    method: Component
    entries: tuple[Entry, ...]
    mean_rank: float | None
    remarks: MethodRemarks


@dataclass(frozen=True)
class Leaderboard:
    """One environment's leaderboard."""

    environment: Component
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    unbeaten: tuple[UnbeatenControl, ...]
    has_promises: bool  # whether a method states what its attribution adds up to
    notes: tuple[str, ...]  # about intervals, what can be separated, readouts and ceilings
    diagrams: tuple[Diagram, ...]


@dataclass(frozen=True)
class Test:
    """One faithfulness test."""

    metric: str
    gamma: float
    rule: str
    checks: tuple[Check, ...]
    environments: tuple[str, ...]
    rows: tuple[tuple[Component, Verdict], ...]


def leaderboards(loaded: LoadedRun) -> tuple[Leaderboard, ...]:
    environments = by_label(loaded.run, "environments")
    return tuple(_leaderboard(loaded, board, environments[board.environment]) for board in loaded.result.boards)


def _leaderboard(loaded: LoadedRun, board: Board, environment: Component) -> Leaderboard:
    metrics, methods = by_label(loaded.run, "metrics"), by_label(loaded.run, "methods")
    columns = tuple(_column(board, metrics[label]) for label in board.metrics)
    rows = tuple(
        Row(
            methods[line.method],
            tuple(_entry(board, line, column) for column in columns),
            line.mean_rank,
            line.remarks,
        )
        for line in board.lines
    )
    return Leaderboard(
        environment,
        columns,
        rows,
        tuple(unbeaten_controls(loaded.run, board)),
        board.has_promises,
        board.notes(),
        tuple(diagrams(board, metrics, strokes(methods.values()))),
    )


def _column(board: Board, metric: Component) -> Column:
    cells = [line.cells[metric.label] for line in board.lines]
    return Column(metric, scale(cells), tuple(cell.rank for cell in cells if cell.rank is not None))


def _entry(board: Board, line: Line, column: Column) -> Entry:
    metric = column.metric.label
    cell, letters = line.cells[metric], board.letters(metric).get(line.method, "")
    label = "" if cell.rank is None else rank_label(cell.rank, column.ranks)
    return Entry(cell, bar(cell, column.axis), board.is_best(metric, cell), deviation(cell.per_seed), label, letters)


def tests(loaded: LoadedRun) -> tuple[Test, ...]:
    verdicts = loaded.result.verdicts
    return tuple(_test(loaded, test, verdicts[test.metric, test.gamma]) for test in loaded.study.faithfulness)


def _test(loaded: LoadedRun, test: Faithfulness, verdicts: tuple[Verdict, ...]) -> Test:
    methods, environments = by_label(loaded.run, "methods"), [board.environment for board in loaded.result.boards]
    tested = {environment for verdict in verdicts for environment in verdict.tested_in}
    return Test(
        test.metric,
        test.gamma,
        test.rule,
        test.checks,
        tuple(environment for environment in environments if environment in tested),
        tuple((methods[verdict.method], verdict) for verdict in verdicts),
    )
