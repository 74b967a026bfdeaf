"""How well the metrics of a run rank methods by truth, from its boards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assay.core.errors import StoreError
from assay.core.evidence import Score
from assay.core.records import Record
from assay.engine.store.protocol import RunStore
from assay.report.components import Component, by_label
from assay.report.text import counted, interval_text, listed, number
from assay.stats.agreement import Agreement, agreement
from assay.studies.study import Study

if TYPE_CHECKING:
    from assay.report.board import Board

WITHOUT_INTERVAL = {
    "one": "one seed: no interval",
    "two": "two seeds: both values, no interval",
    "equal": "no interval: equal in all seeds",
    "shared": "no interval: the seeds share model and samples",
}


@dataclass(frozen=True)
class AgreementRow:
    """One metric compared with a metric of truth in one environment."""

    environment: str
    truth: str  # labels of metrics
    metric: str
    agreement: Agreement
    left_out: Mapping[str, str]  # methods without a value by one of the two, and why

    def to_json(self) -> dict[str, Any]:
        names = {"environment": self.environment, "truth": self.truth, "metric": self.metric}
        return {**names, **vars(self.agreement), "left_out": dict(self.left_out)}

    @property
    def text(self) -> str:
        """``0.619 [0.402, 0.836] 7/8 (0.714)``: mean over seeds, interval, seeds that count, correlation of means."""
        agreement = self.agreement
        if agreement.value is None:
            return agreement.reason
        parts = [number(agreement.value), interval_text(agreement)]
        if agreement.defined < agreement.count:
            parts.append(f"{agreement.defined}/{agreement.count}")
        if agreement.of_means is not None and agreement.count > 1:
            parts.append(f"({number(agreement.of_means)})")
        return " ".join(part for part in parts if part)


@dataclass(frozen=True)
class AgreementTable:
    """All metrics that a study compares with one metric of truth: environments down, metrics across."""

    truth: str
    metrics: tuple[str, ...]
    methods: tuple[str, ...]  # that the study asks about
    rows: tuple[AgreementRow, ...]

    @property
    def environments(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(row.environment for row in self.rows))

    def row(self, environment: str, metric: str) -> AgreementRow | None:
        """None where one of the two metrics is not meant for the environment."""
        names = (environment, metric)
        return next((row for row in self.rows if (row.environment, row.metric) == names), None)

    @property
    def title(self) -> str:
        return f"Agreement with {self.truth}: Spearman's correlation over {counted(len(self.methods), 'method')}"

    def notes(self) -> Iterator[str]:
        """What the numbers are, and which methods are not in them."""
        agreements = [row.agreement for row in self.rows]
        yield f"methods: {listed(self.methods)}"
        seeds = max((one.count for one in agreements), default=0)
        if any(one.basis == "seeds" for one in agreements):
            yield f"mean of the correlations in each seed, 95 % interval over {counted(seeds, 'seed')}"
        if seeds > 1:
            yield "in parentheses: the correlation of scores averaged over seeds"
        yield from (text for basis, text in WITHOUT_INTERVAL.items() if any(one.basis == basis for one in agreements))
        yield from left_out_notes([(f"{row.metric} in {row.environment}", row.left_out) for row in self.rows])


def left_out_notes(rows: Sequence[tuple[str, Mapping[str, str]]]) -> Iterator[str]:
    """Which methods are not in which rows of a table, and why; the rows with their names."""
    places: dict[tuple[str, str], list[str]] = {}  # by method and reason
    for name, left_out in rows:
        for pair in left_out.items():
            places.setdefault(pair, []).append(name)
    methods: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (method, why), names in places.items():
        methods.setdefault((why, tuple(names)), []).append(method)
    for (why, where), group in methods.items():
        extent = "everywhere" if len(where) == len(rows) else f"of {listed(where)}"
        yield f"{listed(group)} {'is' if len(group) == 1 else 'are'} left out {extent}: {why}"


def agreement_tables(
    run: Record, study: Study, store: RunStore, boards: Sequence[Board], records: Mapping[str, Record]
) -> tuple[AgreementTable, ...]:
    """The comparisons that the study asks for, in its order."""
    independent = {board.environment: seeds_are_independent(board, store, records) for board in boards}
    metrics = by_label(run, "metrics")
    tables = []
    for item in study.agreement:
        truth = metrics[item.truth]
        rows = tuple(
            _row(board, metrics[metric], truth, item.methods, independent[board.environment])
            for board in boards
            for metric in item.metrics
            if metric in board.metrics and truth.label in board.metrics
        )
        tables.append(AgreementTable(truth.label, item.metrics, item.methods, rows))
    return tuple(tables)


def _row(board: Board, metric: Component, truth: Component, methods: Sequence[str], independent: bool) -> AgreementRow:
    names = (board.environment, truth.label, metric.label)
    if not (metric.ranks_methods and truth.ranks_methods):
        return AgreementRow(*names, Agreement(None, reason="one of the two metrics ranks no methods"), {})
    cells = {line.method: line.cells for line in board.lines if line.method in methods}
    same_direction = metric.higher_is_better == truth.higher_is_better
    computed = agreement(_scores(cells, metric.label), _scores(cells, truth.label), same_direction, independent)
    left_out = {
        name: why_without([cells[name][metric.label], cells[name][truth.label]]) if name in cells else "not run here"
        for name in methods
        if name not in computed.methods
    }
    return AgreementRow(*names, computed, left_out)


def _scores(cells: Mapping[str, Mapping[str, Score]], metric: str) -> dict[str, Score]:
    """By method; without those that have no value."""
    return {name: row[metric] for name, row in cells.items() if row[metric].value is not None}


def why_without(cells: Sequence[Score]) -> str:
    """Why a method is not compared."""
    for cell in cells:
        if cell.status != "ok":
            return cell.status
    return "undefined" if any(cell.value is None for cell in cells) else "undefined in some seeds"


def seeds_are_independent(board: Board, store: RunStore, records: Mapping[str, Record]) -> bool:
    """Whether seeds have models or samples of their own: not if fewer samples differ than there are."""
    for score in (score for line in board.lines for score in line.cells.values() if score.value is not None):
        if score.unit == "samples":
            try:
                return len(store.load(records[score.key]).get("samples", ())) >= score.count
            except StoreError:
                continue
        return score.unit == "seeds"
    return False
