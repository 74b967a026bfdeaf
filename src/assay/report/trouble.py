"""What is missing and why: skipped, failed and undefined cells, grouped by reason."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

from assay.core.records import Record
from assay.report.board import Result
from assay.report.reading import Reading

T = TypeVar("T")
Labels = tuple[str, ...]


class Outcome(NamedTuple):
    """How one cell ended."""

    status: str  # ok, failed, skipped
    reason: str
    environment: str
    method: str
    metric: str
    key: str = ""  # of its score


@dataclass(frozen=True)
class Part:
    """Each of these methods with each of these metrics in each of these environments; empty: all that are there."""

    methods: Labels
    metrics: Labels
    environments: Labels

    def __str__(self) -> str:
        methods, metrics = (", ".join(found) for found in (self.methods, self.metrics))
        where = f" on {', '.join(self.environments)}" if self.environments else ""
        return f"{methods or 'all methods'} ({metrics or 'all metrics'}){where}"


@dataclass(frozen=True)
class Group:
    """All cells that are missing for one reason."""

    status: str  # failed, skipped
    reason: str
    parts: tuple[Part, ...]
    cells: tuple[Outcome, ...]
    traceback: str = ""

    def __str__(self) -> str:
        """The reason once, then whom it concerns."""
        return f"{self.reason}: {'; '.join(map(str, self.parts))}"


@dataclass(frozen=True)
class Gap:
    """A metric that is undefined on some samples, or on all: for one method, or for several alike."""

    environment: str
    metric: str
    defined: int
    count: int
    methods: tuple[str, ...]


def groups(reading: Reading) -> list[Group]:
    """What is missing of a run, with tracebacks."""
    found = sorted_out(outcomes(reading.result))
    return [replace(group, traceback=_traceback(reading, group.cells)) for group in found]


def outcomes(result: Result) -> list[Outcome]:
    return [
        Outcome(cell.status, cell.reason, board.environment, line.method, metric, cell.key)
        for board, line, metric, cell in result.cells()
    ]


def sorted_out(given: Iterable[Outcome]) -> list[Group]:
    """By reason: failures first, then in the order of the cells. Those that are ok tell what "all" is."""
    every = list(given)
    trouble = [cell for status in ("failed", "skipped") for cell in every if cell.status == status]
    found = _by(trouble, lambda cell: (cell.status, cell.reason))
    return [
        Group(status, reason, tuple(_parts(cells, every)), tuple(cells)) for (status, reason), cells in found.items()
    ]


def _parts(missing: list[Outcome], every: list[Outcome]) -> Iterator[Part]:
    """Methods that lack the same metrics together, then environments where it is the same methods."""
    rows: dict[tuple[str, Labels], list[str]] = {}
    for (environment, method), cells in _by(missing, lambda cell: (cell.environment, cell.method)).items():
        whole = [cell.metric for cell in every if (cell.environment, cell.method) == (environment, method)]
        rows.setdefault((environment, _or_all(_unique(cell.metric for cell in cells), whole)), []).append(method)
    places: dict[tuple[Labels, Labels], list[str]] = {}
    for (environment, metrics), methods in rows.items():
        whole = [cell.method for cell in every if cell.environment == environment]
        places.setdefault((_or_all(_unique(methods), whole), metrics), []).append(environment)
    known = [cell.environment for cell in every]
    for (who, metrics), environments in places.items():
        yield Part(who, metrics, () if set(environments) == set(known) else tuple(environments))


def _or_all(labels: Labels, whole: Iterable[str]) -> Labels:
    """Empty where these are all of several."""
    known = set(whole)
    return () if len(known) > 1 and known == set(labels) else labels


def gaps(reading: Reading) -> list[Gap]:
    found: dict[tuple[str, str, int, int], list[str]] = {}
    for board, line, metric, cell in reading.result.cells():
        if cell.status == "ok" and cell.defined < cell.count:
            found.setdefault((board.environment, metric, cell.defined, cell.count), []).append(line.method)
    return [Gap(*place, tuple(methods)) for place, methods in found.items()]


def _traceback(reading: Reading, cells: Iterable[Outcome]) -> str:
    """Of a score itself, or of the first block that gave none."""
    for cell in cells:
        causes: list[Record | None] = [reading.records.get(cell.key)]
        for trials in reading.trials(cell.environment, cell.method):
            causes += [record for _, record in reading.outcomes(trials, cell.metric)]
        if found := next((record.traceback for record in causes if record and record.traceback), ""):
            return found
    return ""


def _by(things: Iterable[T], key: Callable[[T], Hashable]) -> dict[Any, list[T]]:
    found: dict[Any, list[T]] = {}
    for thing in things:
        found.setdefault(key(thing), []).append(thing)
    return found


def _unique(words: Iterable[str]) -> Labels:
    return tuple(dict.fromkeys(words))
