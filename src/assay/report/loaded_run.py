"""A finished run with all records it refers to, loaded from the store once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from assay.core.evidence import read_score
from assay.core.records import Record
from assay.engine.store.arrays import Array
from assay.engine.store.protocol import RunStore
from assay.report.board import Result, result
from assay.studies.study import Study

Curve = tuple[Array, Array]  # x and y
Series = Mapping[str, Any]  # one method in one environment with one seed, as a run record lists it


@dataclass(frozen=True)
class LoadedRun:
    """A finished run in a store."""

    store: RunStore
    result: Result

    @property
    def records(self) -> Mapping[str, Record]:
        """By key: samples, fits, trials, evidence, scores."""
        return self.result.records

    @property
    def run(self) -> Record:
        return self.result.run

    @property
    def study(self) -> Study:
        return self.result.study

    @property
    def title(self) -> str:
        return self.study.title or self.study.name

    def series(self, environment: str | None = None, method: str | None = None) -> Iterator[Series]:
        """All series in the order of the grid, or those of one environment or method."""
        for series in self.run.data["trials"]:
            if environment in (None, series["environment"]) and method in (None, series["method"]):
                yield series

    def ranked_methods(self, environment: str) -> list[str]:
        """Methods in the order of the environment's board; then those that no metric judges, in the study's order."""
        boards = [board for board in self.result.boards if board.environment == environment]
        judged = [line.method for board in boards for line in board.lines]
        return judged + [entry.label for entry in self.study.methods if entry.label not in judged]

    def outcomes(self, series: Series, metric: str) -> Iterator[tuple[int, Record | None]]:
        """Per block its start and the record of its evidence, or of its trial without evidence; None: not computed."""
        for block, key in zip(series["blocks"], series["evidence"][metric], strict=True):
            yield block["start"], self.records.get(key) or self.records.get(block["trial"])

    def curve(self, row: Mapping[str, str]) -> Curve | None:
        """The mean curve of a row's score without undefined points; None if the score has no curve."""
        record = self.records.get(row["key"])
        score = read_score(record, arrays=self.store.load(record) if record else {})
        if score.curve is None or score.at is None:
            return None
        defined = slice(None) if score.curve_defined is None else score.curve_defined  # undefined points are 0
        return score.at[defined], score.curve[defined]


def load_run(store: RunStore, run: Record | None = None) -> LoadedRun:
    """Load a run, by default the latest; StoreError if there is none."""
    return LoadedRun(store, result(store, run))
