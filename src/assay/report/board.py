"""Boards: the result of a study as tables, read from a store. No component code, no torch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from assay.core.records import Record
from assay.report.asked import two_numbers
from assay.report.components import by_label
from assay.report.promises import Said, said
from assay.report.runs import latest_run
from assay.report.verdicts import verdicts
from assay.report.words import bases, listed, verb
from assay.stats.faithfulness import Verdict
from assay.stats.ranks import mean_ranks, ranks
from assay.store.store import Store

Place = tuple[str, str]  # labels of an environment and of a method


@dataclass(frozen=True)
class Cell:
    """One method judged by one metric in one environment."""

    status: str  # ok, skipped, failed
    value: float | None = None
    low: float | None = None
    high: float | None = None
    count: int = 0  # samples over all seeds
    defined: int = 0  # of these, how many the value rests on
    rank: float | None = None  # 1 is best; ties share their average
    reason: str = ""
    key: str = ""
    ceiling: float | None = None  # the best that these samples allow, where the metric knows it
    per_seed: tuple[float | None, ...] = ()  # the value of each seed; None where it is undefined
    basis: str = ""  # of the interval: seeds, samples, draw; why there is none: two, equal; "": there is no value
    explains: str = ""  # the number that the method explained, where the metric read another one
    reads: str = ""  # the number that the metric read, where the method explained another one


@dataclass(frozen=True)
class Line:
    """One method in one environment."""

    method: str
    cells: Mapping[str, Cell]  # by metric label
    mean_rank: float | None  # over the metrics; None when one is missing
    said: Said = Said()  # about its answers


@dataclass(frozen=True)
class Board:
    """One environment: methods, best first by the study's first metric, against metrics."""

    environment: str
    metrics: tuple[str, ...]
    lines: tuple[Line, ...]

    @property
    def promising(self) -> bool:
        """Whether some method says what its attribution adds up to."""
        return any(line.said.gap is not None for line in self.lines)

    def ceilings(self) -> dict[str, float]:
        """By metric: the most that is possible on these samples, where that is less than the metric's own best."""
        known = [(name, cell.ceiling) for line in self.lines for name, cell in line.cells.items() if cell.ceiling]
        return {name: value for name, value in sorted(known, key=lambda pair: pair[1]) if value < 0.9995}

    def notes(self) -> tuple[str, ...]:
        """What its intervals are over, and which metrics read another number than which methods explained."""
        return (*bases((name, cell) for line in self.lines for name, cell in line.cells.items()), *self._two_numbers())

    def _two_numbers(self) -> list[str]:
        found: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
        for metric in self.metrics:
            methods: dict[tuple[str, str], list[str]] = {}
            for line in self.lines:
                cell = line.cells[metric]
                methods.setdefault((cell.reads, cell.explains), []).append(line.method)
            for (reads, explains), names in methods.items():
                if reads:
                    found.setdefault((reads, explains, tuple(names)), []).append(metric)
        return [
            f"{listed(by)} {verb('read', by)} the {reads}, {listed(names)} {verb('explain', names)} the {explains}"
            for (reads, explains, names), by in found.items()
        ]


@dataclass(frozen=True)
class Result:
    """A finished run, as a reader sees it."""

    run: Record
    boards: tuple[Board, ...]
    verdicts: Mapping[tuple[str, float], tuple[Verdict, ...]]  # by metric label and gamma

    @property
    def study(self) -> Mapping[str, Any]:
        return self.run.data["study"]  # type: ignore[no-any-return]

    def cells(self) -> Iterator[tuple[Board, Line, str, Cell]]:
        for board in self.boards:
            for line in board.lines:
                for metric, cell in line.cells.items():
                    yield board, line, metric, cell

    def failed(self) -> list[tuple[Board, Line, str, Cell]]:
        return [row for row in self.cells() if row[3].status == "failed"]

    def skipped(self) -> list[tuple[Board, Line, str, Cell]]:
        return [row for row in self.cells() if row[3].status == "skipped"]


def result(store: Store, run: Record | None = None) -> Result:
    """A run's boards and verdicts; the latest run's unless one is given."""
    run = run or latest_run(store)
    rows: Sequence[Mapping[str, str]] = run.data["rows"]
    scores = store.get_many(row["key"] for row in rows)
    trials = _trials(run, store)
    labels = [entry["label"] for entry in run.data["study"]["environments"]]
    boards = tuple(
        _board(run, label, [row for row in rows if row["environment"] == label], scores, trials) for label in labels
    )
    return Result(run, boards, verdicts(run.data["study"], boards))


def _trials(run: Record, store: Store) -> dict[Place, list[Mapping[str, Any]]]:
    """What is told with the attributions, block by block."""
    keys: dict[Place, list[str]] = {}
    for trials in run.data["trials"]:
        known = keys.setdefault((trials["environment"], trials["method"]), [])
        known += [block["trial"] for block in trials["blocks"]]
    records = store.get_many(key for known in keys.values() for key in known)
    found = {key: record.data for key, record in records.items() if record.status == "ok"}
    return {place: [found[key] for key in known if key in found] for place, known in keys.items()}


def higher_is_better(run: Record, metric: str) -> bool | None:
    """The direction that a metric declares with its parameters; None where it declares none."""
    found = _declared(run, metric).get("higher_is_better")
    return None if found is None else bool(found)


def _ranks_methods(run: Record, metric: str) -> bool:
    """Whether better values mean a better method: a direction is known, and it is not about models."""
    return higher_is_better(run, metric) is not None and _declared(run, metric).get("about") != "models"


def _declared(run: Record, metric: str) -> Mapping[str, Any]:
    return by_label(run, "metrics")[metric].declared


def arrow(run: Record, metric: str, up: str = "↑", down: str = "↓") -> str:
    """Towards better; empty where that is not known."""
    return {None: "", True: up, False: down}[higher_is_better(run, metric)]


def _board(
    run: Record,
    label: str,
    rows: Sequence[Mapping[str, str]],
    scores: Mapping[str, Record],
    trials: Mapping[Place, Sequence[Mapping[str, Any]]],
) -> Board:
    metrics = tuple(dict.fromkeys(row["metric"] for row in rows))
    methods = tuple(dict.fromkeys(row["method"] for row in rows))
    judges, judged = by_label(run, "metrics"), by_label(run, "methods")
    # What a method was asked is told with its first trial; controls explain no number at all.
    asked = {name: trials[label, name][0] for name in methods if trials[label, name] and not judged[name].control}
    cells = {}
    for row in rows:
        explains, reads = two_numbers(judges[row["metric"]], asked.get(row["method"], {}))
        found = _cell(row["key"], scores.get(row["key"]))
        cells[row["method"], row["metric"]] = replace(found, explains=explains, reads=reads)
    ranked = {
        metric: ranks({method: cells[method, metric].value for method in methods}, bool(higher_is_better(run, metric)))
        for metric in metrics
        if _ranks_methods(run, metric)
    }
    means = mean_ranks(ranked) if ranked else dict.fromkeys(methods)
    places = {metric: ranked.get(metric, dict.fromkeys(methods)) for metric in metrics}
    lines = [
        Line(
            method,
            {metric: _ranked(cells[method, metric], places[metric][method]) for metric in metrics},
            means[method],
            said(trials[label, method]),
        )
        for method in methods
    ]
    first = metrics[0] if metrics else ""
    return Board(label, metrics, tuple(sorted(lines, key=lambda line: _order(line, first))))


def _order(line: Line, metric: str) -> float:
    rank = line.cells[metric].rank if metric in line.cells else None
    return float("inf") if rank is None else rank


def _without_value(data: Mapping[str, Any]) -> str:
    """Why there is none: no sample counts, or those that do reach nothing that could be averaged."""
    if not data["defined"]:
        return f"undefined on all {data['count']} samples"
    return f"no value: the {data['defined']} samples that count reach no level"


def _cell(key: str, record: Record | None) -> Cell:
    if record is None:
        return Cell("failed", reason="the score is not in the store: run the study again", key=key)
    if record.status != "ok":
        return Cell(record.status, reason=record.reason, key=key)
    data = record.data
    reason = "" if data["value"] is not None else _without_value(data)
    names = ("value", "low", "high", "count", "defined", "basis")
    if "basis" not in data:  # from before intervals had one: they were too narrow, and are not shown
        data = {**data, "low": None, "high": None, "basis": ""}
    known = {name: data[name] for name in names}
    per_seed, ceiling = tuple(data["per_seed"]), data.get("ceiling")
    return Cell("ok", **known, per_seed=per_seed, reason=reason, key=key, ceiling=ceiling)


def _ranked(cell: Cell, rank: float | None) -> Cell:
    return Cell(**{**cell.__dict__, "rank": rank})
