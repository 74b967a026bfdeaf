"""Missing scores and why: skipped, failed and undefined cells, grouped by reason."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from assay.core.evidence import Score
from assay.core.records import Record

if TYPE_CHECKING:
    from assay.report.loaded_run import LoadedRun

T = TypeVar("T")
Labels = tuple[str, ...]


@dataclass(frozen=True)
class Part:
    """All combinations of these methods, metrics and environments; an empty tuple means all of them."""

    methods: Labels
    metrics: Labels
    environments: Labels

    def __str__(self) -> str:
        methods, metrics = (", ".join(labels) for labels in (self.methods, self.metrics))
        environments = f" on {', '.join(self.environments)}" if self.environments else ""
        return f"{methods or 'all methods'} ({metrics or 'all metrics'}){environments}"


@dataclass(frozen=True)
class Group:
    """All cells that are missing for the same reason."""

    status: str  # failed, skipped
    reason: str
    parts: tuple[Part, ...]
    cells: tuple[Score, ...]
    traceback: str = ""

    def __str__(self) -> str:
        """The reason, then the cells it concerns."""
        return f"{self.reason}: {'; '.join(map(str, self.parts))}"


@dataclass(frozen=True)
class UndefinedMetric:
    """A metric that is undefined on some or all samples, and the methods for which the counts are the same."""

    environment: str
    metric: str
    defined: int
    count: int
    methods: tuple[str, ...]


def groups(loaded: LoadedRun) -> list[Group]:
    """The missing cells of a run by reason, with tracebacks."""
    by_reason = grouped_by_reason(loaded.result.scores())
    return [replace(group, traceback=_traceback(loaded, group.cells)) for group in by_reason]


def grouped_by_reason(scores: Iterable[Score]) -> list[Group]:
    """Missing cells by reason: failures first, then in the order of the cells. Cells that are ok define "all"."""
    all_cells = list(scores)
    missing = [cell for status in ("failed", "skipped") for cell in all_cells if cell.status == status]
    by_reason = _group_by(missing, lambda cell: (cell.status, cell.reason))
    return [
        Group(status, reason, tuple(_parts(cells, all_cells)), tuple(cells))
        for (status, reason), cells in by_reason.items()
    ]


def _parts(missing: list[Score], all_cells: list[Score]) -> Iterator[Part]:
    """First joins methods that lack the same metrics, then environments in which the methods are the same."""
    methods_by_part: dict[tuple[str, Labels], list[str]] = {}
    for (environment, method), cells in _group_by(missing, lambda cell: (cell.environment, cell.method)).items():
        all_labels = [cell.metric for cell in all_cells if (cell.environment, cell.method) == (environment, method)]
        methods_by_part.setdefault(
            (environment, _empty_if_all(_unique(cell.metric for cell in cells), all_labels)), []
        ).append(method)
    environments_by_part: dict[tuple[Labels, Labels], list[str]] = {}
    for (environment, metrics), methods in methods_by_part.items():
        all_labels = [cell.method for cell in all_cells if cell.environment == environment]
        environments_by_part.setdefault((_empty_if_all(_unique(methods), all_labels), metrics), []).append(environment)
    all_environments = [cell.environment for cell in all_cells]
    for (methods_or_all, metrics), environments in environments_by_part.items():
        yield Part(methods_or_all, metrics, () if set(environments) == set(all_environments) else tuple(environments))


def _empty_if_all(labels: Labels, all_labels: Iterable[str]) -> Labels:
    """The labels, or an empty tuple if they are all of several."""
    distinct = set(all_labels)
    return () if len(distinct) > 1 and distinct == set(labels) else labels


def undefined_metrics(loaded: LoadedRun) -> list[UndefinedMetric]:
    methods_by_counts: dict[tuple[str, str, int, int], list[str]] = {}
    for cell in loaded.result.scores():
        if cell.status == "ok" and cell.defined < cell.count:
            counts = (cell.environment, cell.metric, cell.defined, cell.count)
            methods_by_counts.setdefault(counts, []).append(cell.method)
    return [UndefinedMetric(*counts, tuple(methods)) for counts, methods in methods_by_counts.items()]


def _traceback(loaded: LoadedRun, cells: Iterable[Score]) -> str:
    """The traceback of a score, or else of its first block that has one."""
    for cell in cells:
        records: list[Record | None] = [loaded.records.get(cell.key)]
        for series in loaded.series(cell.environment, cell.method):
            records += [record for _, record in loaded.outcomes(series, cell.metric)]
        if traceback := next((record.traceback for record in records if record and record.traceback), ""):
            return traceback
    return ""


def _group_by(items: Iterable[T], key: Callable[[T], Hashable]) -> dict[Any, list[T]]:
    groups: dict[Any, list[T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def _unique(words: Iterable[str]) -> Labels:
    return tuple(dict.fromkeys(words))
