"""Boards: the results of a run as tables, read from a store. Needs no component code and no torch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from assay.core.evidence import Score, read_score
from assay.core.records import Record
from assay.engine.store.protocol import RunStore
from assay.report.agreements import AgreementTable, agreement_tables
from assay.report.answer import FAMILIES, UNFAMILIAR, Answer, board_answer
from assay.report.ceilings import ceiling_notes
from assay.report.common_levels import CommonLevels, levels_in_common
from assay.report.comparisons import comparison_notes, comparisons, letters
from assay.report.components import by_label
from assay.report.conditions import mixed_conditions
from assay.report.damages import DamageTable, damage_tables
from assay.report.finding import Finding
from assay.report.findings import findings
from assay.report.readouts import different_readouts, readout_notes
from assay.report.remarks import MethodRemarks, method_remarks
from assay.report.runs import keys_of, latest_run
from assay.report.slopes import SlopeTable, slope_tables
from assay.report.text import interval_notes
from assay.report.verdicts import verdicts
from assay.stats.comparison import Comparison
from assay.stats.faithfulness import Verdict
from assay.stats.ranks import mean_ranks, ranks
from assay.studies.study import Study

OWN = "own"  # the environment of a user's model, where no truth is known
ANSWERED = {*FAMILIES, UNFAMILIAR}  # metrics whose scores the table of an answer shows
Pair = tuple[str, str]  # labels of an environment and of a method
_NAMES = ("environment", "method", "metric", "key")  # of a score, in a run's rows


@dataclass(frozen=True)
class Line:
    """One method in one environment."""

    method: str
    cells: Mapping[str, Score]  # by metric label
    mean_rank: float | None  # over the metrics; None when one is missing
    remarks: MethodRemarks = MethodRemarks()  # about its attributions


@dataclass(frozen=True)
class Board:
    """One environment: a line per method, best first by the study's first metric, with a cell per metric."""

    environment: str
    metrics: tuple[str, ...]
    lines: tuple[Line, ...]
    comparisons: Mapping[str, Comparison] = field(default_factory=dict)  # by metric, where there are two units or more
    about: tuple[str, ...] = ()  # sentences about a user's data, where no answer says them

    @property
    def has_promises(self) -> bool:
        """Whether a method states what its attribution adds up to."""
        return any(line.remarks.gap is not None for line in self.lines)

    def is_best(self, metric: str, cell: Score) -> bool:
        """Whether a cell has the best rank of its column; true for all cells that tie."""
        ranks = (line.cells[metric].rank for line in self.lines)
        return cell.rank is not None and cell.rank == min(rank for rank in ranks if rank is not None)

    def letters(self, metric: str) -> Mapping[str, str]:
        """By method: letters, of which two methods that are not separated have one in common."""
        return letters(self.comparisons[metric]) if metric in self.comparisons else {}

    def notes(self) -> tuple[str, ...]:
        """What the board is about, what the intervals are over, which methods can be separated, where a metric read
        another number, and what maps can reach at most."""
        return (
            *self.about,
            *interval_notes((name, cell) for line in self.lines for name, cell in line.cells.items()),
            *(comparison_notes(self.comparisons) if self.comparisons else ()),
            *readout_notes(self),
            *ceiling_notes(self),
        )


@dataclass(frozen=True)
class Result:
    """The boards and verdicts of a finished run."""

    run: Record
    boards: tuple[Board, ...]
    verdicts: Mapping[tuple[str, float], tuple[Verdict, ...]]  # by metric label and gamma
    records: Mapping[str, Record]  # by key: samples, fits, trials, evidence, scores
    agreements: tuple[AgreementTable, ...] = ()
    slopes: tuple[SlopeTable, ...] = ()
    common_levels: tuple[CommonLevels, ...] = ()
    damages: tuple[DamageTable, ...] = ()  # where the study damages maps on purpose
    answers: Mapping[str, Answer] = field(default_factory=dict)  # by label: environments that are a user's own model
    findings: tuple[Finding, ...] = ()  # what follows, in sentences

    @cached_property
    def mixed(self) -> str:
        """A sentence, where the records were made with different options."""
        return mixed_conditions(self.records.values())

    @cached_property
    def study(self) -> Study:
        return Study.from_json(self.run.data["study"])

    @property
    def has_sweep(self) -> bool:
        return self.study.sweep is not None

    @property
    def answers_cover_boards(self) -> bool:
        """Whether the tables of answers have all the scores."""
        metrics = by_label(self.run, "metrics")
        return all(
            board.environment in self.answers and all(metrics[name].spec.name in ANSWERED for name in board.metrics)
            for board in self.boards
        )

    def scores(self) -> Iterator[Score]:
        """Board by board, method by method."""
        return (score for board in self.boards for line in board.lines for score in line.cells.values())

    def failed(self) -> list[Score]:
        return [score for score in self.scores() if score.status == "failed"]

    def skipped(self) -> list[Score]:
        return [score for score in self.scores() if score.status == "skipped"]


def result(store: RunStore, run: Record | None = None) -> Result:
    """The boards of a run, by default of the latest, with the verdicts, agreements and slopes that its study asks
    for."""
    run = run or latest_run(store)
    study, rows = Study.from_json(run.data["study"]), run.data["rows"]
    records = store.get_many(keys_of(run))
    trials = _trial_data(run, records)
    boards = []
    for label in (entry.label for entry in study.environments):
        board_rows = [row for row in rows if row["environment"] == label]
        board = _board(run, label, board_rows, records, trials)
        if len(board.lines) > 1:
            board = replace(board, comparisons=comparisons(run, store, board, records))
        boards.append(board)
    agreements = agreement_tables(run, study, store, boards, records) if study.agreement else ()
    slopes = slope_tables(run, study, store, boards, records) if study.slope else ()
    damages = damage_tables(run, study, store, boards, records)
    own = {entry.label for entry in study.environments if entry.spec.name == OWN}
    answers = {
        board.environment: answer
        for board in boards
        if board.environment in own and (answer := board_answer(run, store, board, records, study.notes))
    }
    unanswered = own - answers.keys()
    boards = [replace(board, about=study.notes) if board.environment in unanswered else board for board in boards]
    common = levels_in_common(run, store, boards, records)
    whole = Result(run, tuple(boards), verdicts(study, boards), records, agreements, slopes, common, damages, answers)
    return replace(whole, findings=findings(whole, store))


def _trial_data(run: Record, records: Mapping[str, Record]) -> dict[Pair, list[Mapping[str, Any]]]:
    """The data of all completed trials, by environment and method."""
    keys: dict[Pair, list[str]] = {}
    for series in run.data["trials"]:
        method_keys = keys.setdefault((series["environment"], series["method"]), [])
        method_keys += [block["trial"] for block in series["blocks"]]
    data = {key: record.data for key, record in records.items() if record.status == "ok"}
    return {pair: [data[key] for key in method_keys if key in data] for pair, method_keys in keys.items()}


def arrow(run: Record, metric: str, up: str = "↑", down: str = "↓") -> str:
    """An arrow towards better values; empty for a metric without a direction."""
    return {None: "", True: up, False: down}[by_label(run, "metrics")[metric].higher_is_better]


def _board(
    run: Record,
    label: str,
    rows: Sequence[Mapping[str, str]],
    scores: Mapping[str, Record],
    trials: Mapping[Pair, Sequence[Mapping[str, Any]]],
) -> Board:
    metrics = tuple(dict.fromkeys(row["metric"] for row in rows))
    methods = tuple(dict.fromkeys(row["method"] for row in rows))
    metric_by_label, method_by_label = by_label(run, "metrics"), by_label(run, "methods")
    # The first trial records the method's question. Controls explain no number.
    first_trials = {
        name: trials[label, name][0] for name in methods if trials[label, name] and not method_by_label[name].control
    }
    cells = {}
    for row in rows:
        explains, reads = different_readouts(metric_by_label[row["metric"]], first_trials.get(row["method"], {}))
        score = read_score(scores.get(row["key"]), {name: row[name] for name in _NAMES})
        cells[row["method"], row["metric"]] = replace(score, explains=explains, reads=reads)
    ranks_by_metric = {
        metric: ranks(
            {method: cells[method, metric].value for method in methods}, bool(metric_by_label[metric].higher_is_better)
        )
        for metric in metrics
        if metric_by_label[metric].ranks_methods
    }
    means_by_method = mean_ranks(ranks_by_metric) if ranks_by_metric else dict.fromkeys(methods)
    method_ranks = {metric: ranks_by_metric.get(metric, dict.fromkeys(methods)) for metric in metrics}
    lines = [
        Line(
            method,
            {metric: replace(cells[method, metric], rank=method_ranks[metric][method]) for metric in metrics},
            means_by_method[method],
            method_remarks(trials[label, method]),
        )
        for method in methods
    ]
    first = metrics[0] if metrics else ""
    return Board(label, metrics, tuple(sorted(lines, key=lambda line: _sort_key(line, first))))


def _sort_key(line: Line, metric: str) -> float:
    rank = line.cells[metric].rank if metric in line.cells else None
    return float("inf") if rank is None else rank
