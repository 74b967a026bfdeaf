"""The sweep of a run as tables: score over the values of the varied parameter, for each metric and environment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from assay.core.evidence import Score
from assay.studies.study import Study, Sweep, value_text

if TYPE_CHECKING:
    from assay.report.board import Result

Key = tuple[str, str, str]  # labels of environment, method and metric
_KINDS = ("environments", "methods", "metrics")
_ABSENT = Score(None, status="skipped", reason="the study does not ask for it")


@dataclass(frozen=True)
class SweepLine:
    """A method over the values: a cell for each of them. One that was not varied has the same cell at all values."""

    label: str
    method: str  # label of the method, or of the varied one: sets the colour
    cells: tuple[Score, ...]
    level: bool = False  # not varied


@dataclass(frozen=True)
class SweepTable:
    """A metric in an environment, where one of environment, method and metric is varied."""

    environment: str
    metric: str  # where metrics are varied, the label of the varied one
    lines: tuple[SweepLine, ...]

    def gaps(self, texts: Sequence[str]) -> list[str]:
        """Where there is no score and why, one sentence for each line and reason."""
        places: dict[tuple[str, str], list[str]] = {}
        for line in self.lines:
            for text, cell in zip(texts, line.cells, strict=True):
                if cell.value is None:
                    reason = cell.reason if cell.status == "ok" else f"{cell.status}: {cell.reason}"
                    places.setdefault((line.label, reason), []).append(text)
        return [
            f"{label} has no score{_at(missing) if len(missing) < len(texts) else ''} ({reason})"
            for (label, reason), missing in places.items()
        ]


@dataclass(frozen=True)
class RunSweep(Sweep):
    """The sweep of a run."""

    tables: tuple[SweepTable, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(map(value_text, self.values))


def run_sweep(result: Result) -> RunSweep:
    """The sweep of a run whose study has one."""
    sweep = result.study.sweep
    assert sweep is not None
    cells = {(score.environment, score.method, score.metric): score for score in result.scores()}
    tables = tuple(table for table in _tables(result.study, sweep, cells) if table.lines)
    return RunSweep(**vars(sweep), tables=tables)


def swept(study: Study, names: Mapping[str, str]) -> dict[str, str]:
    """Columns of a row for the item that is varied in it and for its value; ``names`` has its environment, method and
    metric. Without these columns where none is varied."""
    if (sweep := study.sweep) is None:
        return {}
    for item in sweep.items:
        for value, copy in zip(sweep.values, item.copies, strict=True):
            if names[sweep.of.removesuffix("s")] == copy:
                return {"sweep_item": item.label, "sweep_value": value_text(value)}
    return {}


def _at(values: Sequence[str]) -> str:
    return f" at {', '.join(values)}"


def _tables(study: Study, sweep: Sweep, cells: Mapping[Key, Score]) -> Iterator[SweepTable]:
    """Each label stands with its copies, value by value; one of another kind with itself."""
    labels = {kind: [entry.label for entry in getattr(study, kind)] for kind in _KINDS}
    copies = {kind: {label: (label,) * len(sweep.values) for label in labels[kind]} for kind in _KINDS}
    copies[sweep.of] = {item.label: item.copies for item in sweep.items}
    varied = {label for item in sweep.items for label in item.copies}
    constant = [label for label in labels[sweep.of] if label not in varied]
    for environment, metric in product(copies["environments"], copies["metrics"]):
        keys = {
            method: list(zip(copies["environments"][environment], labels, copies["metrics"][metric], strict=True))
            for method, labels in copies["methods"].items()
        }
        lines = [
            SweepLine(method, method, tuple(cells.get(key, _ABSENT) for key in method_keys))
            for method, method_keys in keys.items()
            if any(key in cells for key in method_keys)
        ]
        levels = _levels(sweep, environment, metric, constant, [line.method for line in lines])
        constant_cells = [(label, method, cells[key]) for label, method, key in levels if key in cells]
        reference = [
            SweepLine(label, method, (cell,) * len(sweep.values), True) for label, method, cell in constant_cells
        ]
        yield SweepTable(environment, metric, tuple(lines + reference if lines else ()))


def _levels(
    sweep: Sweep, environment: str, metric: str, constant: Sequence[str], methods: Sequence[str]
) -> Iterator[tuple[str, str, Key]]:
    """Label, method and cell of what was not varied. Other metrics are on other scales: none is drawn."""
    if sweep.of == "methods":
        yield from ((method, method, (environment, method, metric)) for method in constant)
    if sweep.of == "environments":
        for other, method in product(constant, methods):
            yield f"{method} in {other}", method, (other, method, metric)
