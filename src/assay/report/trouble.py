"""What is missing and why: skipped, failed and undefined cells, grouped by reason."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from assay.core.records import Record
from assay.report.board import Board, Cell, Line
from assay.report.reading import Reading

Row = tuple[Board, Line, str, Cell]


@dataclass(frozen=True)
class Group:
    """Cells that are missing for one reason, in one environment."""

    status: str  # failed, skipped
    reason: str
    environment: str
    methods: tuple[str, ...]
    metrics: tuple[str, ...]
    cells: int
    traceback: str = ""


@dataclass(frozen=True)
class Gap:
    """A metric that is undefined on some samples, or on all: for one method, or for several alike."""

    environment: str
    metric: str
    defined: int
    count: int
    methods: tuple[str, ...]


def groups(reading: Reading) -> list[Group]:
    """Failures first, then in the order of the boards."""
    found: list[Group] = []
    for status, rows in (("failed", reading.result.failed()), ("skipped", reading.result.skipped())):
        sorted_out: dict[tuple[str, str], list[Row]] = {}
        for row in rows:
            sorted_out.setdefault((row[3].reason, row[0].environment), []).append(row)
        found += [_group(reading, status, *place, rows) for place, rows in sorted_out.items()]
    return found


def gaps(reading: Reading) -> list[Gap]:
    found: dict[tuple[str, str, int, int], list[str]] = {}
    for board, line, metric, cell in reading.result.cells():
        if cell.status == "ok" and cell.defined < cell.count:
            found.setdefault((board.environment, metric, cell.defined, cell.count), []).append(line.method)
    return [Gap(*place, tuple(methods)) for place, methods in found.items()]


def _group(reading: Reading, status: str, reason: str, environment: str, rows: list[Row]) -> Group:
    methods, metrics = _unique(row[1].method for row in rows), _unique(row[2] for row in rows)
    trace = next(filter(None, (_traceback(reading, row) for row in rows)), "")
    return Group(status, reason, environment, methods, metrics, len(rows), trace)


def _traceback(reading: Reading, row: Row) -> str:
    """Of the score itself, or of the first block that gave none."""
    board, line, metric, cell = row
    causes: list[Record | None] = [reading.records.get(cell.key)]
    for trials in reading.trials(board.environment, line.method):
        causes += [record for _, record in reading.outcomes(trials, metric)]
    return next((record.traceback for record in causes if record and record.traceback), "")


def _unique(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))
