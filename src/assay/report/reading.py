"""A run as the report reads it, with every record it rests on, fetched once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from assay.core.records import Record
from assay.report.board import Result, result
from assay.store.artifacts import Array
from assay.store.store import Store

Curve = tuple[Array, Array]  # x and y
Trials = Mapping[str, Any]  # one method in one environment with one seed, as a run record lists it


@dataclass(frozen=True)
class Reading:
    """A finished run in a store."""

    store: Store
    result: Result
    records: Mapping[str, Record]  # by key: samples, trials, evidence, scores

    @property
    def run(self) -> Record:
        return self.result.run

    @property
    def study(self) -> Mapping[str, Any]:
        return self.result.study

    @property
    def title(self) -> str:
        return str(self.study["title"] or self.study["name"])

    def trials(self, environment: str | None = None, method: str | None = None) -> Iterator[Trials]:
        """In the order of the grid; those of one environment or method when asked for."""
        for trials in self.run.data["trials"]:
            if environment in (None, trials["environment"]) and method in (None, trials["method"]):
                yield trials

    def ranked(self, environment: str) -> list[str]:
        """Methods as they stand on the environment's board; those that no metric judged follow in the study's order."""
        boards = [board for board in self.result.boards if board.environment == environment]
        known = [line.method for board in boards for line in board.lines]
        return known + [entry["label"] for entry in self.study["methods"] if entry["label"] not in known]

    def outcomes(self, trials: Trials, metric: str) -> Iterator[tuple[int, Record | None]]:
        """Per block its start and how it ended: the evidence, or the trial that gave none; None was not computed."""
        for block, key in zip(trials["blocks"], trials["evidence"][metric], strict=True):
            yield block["start"], self.records.get(key) or self.records.get(block["trial"])

    def curve(self, row: Mapping[str, str]) -> Curve | None:
        """The mean curve of a row's score, where it has one, without points that mean nothing."""
        record = self.records.get(row["key"])
        arrays = self.store.load(record) if record else {}
        if "curve" not in arrays:
            return None
        known = arrays.get("curve_defined", slice(None))  # elsewhere the curve is 0 and means nothing
        return arrays["axis"][known], arrays["curve"][known]


def read(store: Store, run: Record | None = None) -> Reading:
    """The latest run unless one is given; StoreError when there is none."""
    found = result(store, run)
    return Reading(store, found, store.get_many(_keys(found.run.data)))


def _keys(data: Mapping[str, Any]) -> Iterator[str]:
    for row in (*data["rows"], *data["gallery"]):
        yield row["key"]
    for trials in data["trials"]:
        yield from (block["trial"] for block in trials["blocks"])
        yield from (key for keys in trials["evidence"].values() for key in keys)
        if trials.get("fit"):
            yield trials["fit"]
