"""Methods x metrics on a model and rows in memory: the work of ``assay.evaluate``.

The study that ``assay evaluate`` would run, with the model and the rows as objects: the same numbers, the same words.
Nothing is written, and a cell that fails stops no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from assay.core.errors import SpecError
from assay.core.evidence import Evidence, Score, merge, read_score
from assay.core.machine import Resources
from assay.core.spec import Spec
from assay.engine.artifacts.artifact import default_block_size
from assay.engine.execute.run import Finished, run_in_memory
from assay.evaluation.asked import Components, asked_methods, asked_metrics, asked_rows, checked_budget, covered
from assay.evaluation.canvases import Canvas, canvases, needs_reference
from assay.evaluation.plan import Plan, fitted
from assay.evaluation.study import LABEL, make_study, notes
from assay.own_model import OwnModel
from assay.report.answer import Answer
from assay.report.board import Result, result
from assay.report.missing import grouped_by_reason
from assay.report.progress import progress
from assay.report.remarks import MethodRemarks
from assay.report.result_tables import board_table
from assay.report.table import html, plain_lines
from assay.report.text import interval_notes
from assay.stats.method_verdicts import Verdicts
from assay.studies.study import Entry

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The results of all cells, every method by every metric, and what follows from them. ``print`` it."""

    finished: Finished
    plan: Plan

    @cached_property
    def result(self) -> Result:
        """The boards, as the terminal and the page show them."""
        return result(self.finished.store, self.finished.run)

    @property
    def answer(self) -> Answer | None:
        """What follows, in words and as verdicts; None where no metric was asked that decides."""
        return self.result.answers.get(LABEL)

    @property
    def verdict(self) -> Mapping[str, str]:
        """By method: passes, behind, depends, undecided, no better than chance, or not tested."""
        return {one.method: one.outcome for one in self.verdicts.methods} if self.answer else {}

    @property
    def verdicts(self) -> Verdicts:
        """The verdicts with all their numbers."""
        if self.answer is None:
            raise ValueError("no metric was asked that decides: leave metrics out")
        return self.answer.verdicts

    @cached_property
    def cells(self) -> tuple[Score, ...]:
        """Method by method, metric by metric, in the order in which they were asked."""
        found = {(score.method, score.metric): score for score in self.result.scores()}
        return tuple(self._with_evidence(found[row["method"], row["metric"]]) for row in self.finished.run.data["rows"])

    def _with_evidence(self, score: Score) -> Score:
        """With its curve and its rows."""
        store = self.finished.store
        record = self.result.records.get(score.key)
        if score.status != "ok" or record is None:
            return score
        names = {name: getattr(score, name) for name in ("environment", "method", "metric", "key")}
        (series,) = (one for one in self.finished.run.data["trials"] if one["method"] == score.method)
        blocks = [
            Evidence.from_arrays(store.load(self.result.records[key])) for key in series["evidence"][score.metric]
        ]
        whole = replace(read_score(record, names, store.load(record)), rank=score.rank, explains=score.explains)
        return replace(whole, reads=score.reads, evidence=merge(blocks))

    @cached_property
    def attributions(self) -> Mapping[str, Tensor]:
        """By method that answered: raw."""
        found = {}
        for series in self.finished.run.data["trials"]:
            records = [self.result.records[block["trial"]] for block in series["blocks"]]
            if all(record.status == "ok" for record in records):
                parts = [self.finished.store.load(record)["attribution"] for record in records]
                found[series["method"]] = torch.from_numpy(np.concatenate(parts))
        return found

    @property
    def remarks(self) -> Mapping[str, MethodRemarks]:
        """By method: completeness gap and notes."""
        return {line.method: line.remarks for board in self.result.boards for line in board.lines}

    def __getitem__(self, names: tuple[str, str]) -> Score:
        """``evaluation["integrated_gradients", "deletion"]``."""
        for cell in self.cells:
            if (cell.method, cell.metric) == names:
                return cell
        raise KeyError(f"{names}: nothing was evaluated under these names. scores() lists what was.")

    def scores(self) -> pd.DataFrame:
        """One row per method and metric."""
        import pandas as pd

        columns = ("method", "metric", "status", "value", "low", "high", "count", "defined", "basis", "reason")
        rows = [(cell, self.remarks.get(cell.method, MethodRemarks())) for cell in self.cells]
        return pd.DataFrame(
            [
                {**{name: getattr(cell, name) for name in columns}, "gap": remarks.gap, "gap_mark": remarks.mark}
                for cell, remarks in rows
            ]
        )

    def samples(self) -> pd.DataFrame:
        """One row per method, metric and sample; one row with the reason where a score was skipped or failed."""
        from assay.report.export import score_samples

        return score_samples(self.cells)

    def report(self, folder: str | Path = "report") -> Path:
        """Write the page into a folder; returns the path of its index.html."""
        from assay.report.page import page

        return page(self.finished.store, Path(folder), self.finished.run)

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterable[str]:
        if self.answer is not None:
            yield from self.answer.lines()
            yield ""
            yield from plain_lines(self.answer.table())
            yield ""
        if not self.result.answers_cover_boards:
            (board,) = self.result.boards
            yield from plain_lines(board_table(self.result, board))
            yield from board.about
            yield from interval_notes((cell.metric, cell) for cell in self.cells)
        yield from (f"{method}: {remarks}" for method, remarks in self.remarks.items() if str(remarks))
        yield from (f"{group.status}: {group}" for group in grouped_by_reason(self.cells))

    def _repr_html_(self) -> str:
        parts = [html(self.answer.lines(), self.answer.table())] if self.answer is not None else []
        if not self.result.answers_cover_boards:
            (board,) = self.result.boards
            parts.append(html((), board_table(self.result, board)))
        return "\n".join(parts)


def evaluate(
    own: OwnModel,
    methods: Components | None,
    metrics: Components | None,
    canvas: Canvas | Sequence[Canvas] | None,
    limit: int | None,
    budget: float | None,
    given_reference: bool,
) -> Evaluation:
    """Judge every method by every metric, on as many rows as ``limit`` and ``budget`` seconds allow."""
    setting, rows, budget = own.setting, len(own.samples), checked_budget(budget)
    unnamed = metrics is None and canvas is None
    if setting.reference is None and unnamed and needs_reference(setting.kind):
        raise SpecError(
            "one row without reference: what would replace a removed feature? Give reference, training rows, or "
            "canvas, a number for example."
        )
    chosen = canvases(setting.kind, canvas, setting.question.baseline or "zero")
    method_items, left_out = asked_methods(methods, own)
    metric_items = asked_metrics(metrics, chosen, canvas is not None)
    given = [(item.label, item.instance) for item in method_items]
    count, uncovered = covered(given, asked_rows(limit, rows))
    wanted = Plan(
        tuple(method_items), tuple(metric_items), count, dropped=(*left_out, *uncovered), first=bool(uncovered)
    )
    plan = fitted(wanted, own.place, setting.kind, budget, 1, own.machine)
    environment = Entry(Spec("own"), LABEL, samples=plan.rows, block=default_block_size(setting.kind), rows=plan.rows)
    study, objects = make_study(environment, plan, notes(setting, rows, given_reference, plan, own.notes))
    with progress(Resources(0, own.machine), quiet=False) as watch:
        finished = run_in_memory(study, {**objects, ("environments", LABEL): own.environment}, own.machine, watch)
    return Evaluation(finished, plan)
