"""The values of a score's samples, from the evidence in a store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from assay.core.errors import StoreError
from assay.core.evidence import Evidence
from assay.core.records import Record
from assay.engine.store.protocol import RunStore


def series_of(run: Record, environment: str, method: str) -> Iterator[Mapping[str, Any]]:
    for series in run.data["trials"]:
        if (series["environment"], series["method"]) == (environment, method):
            yield series


def sample_values(
    run: Record, store: RunStore, environment: str, score: tuple[str, str], records: Mapping[str, Record]
) -> list[float | None]:
    """The value of each sample by a method and a metric, seed by seed; empty where there are none."""
    method, metric = score
    by_seed = [seed_values(series, metric, store, records) for series in series_of(run, environment, method)]
    return [value for values in by_seed for value in values] if all(by_seed) else []


def seed_values(
    series: Mapping[str, Any], metric: str, store: RunStore, records: Mapping[str, Record]
) -> list[float | None]:
    """The value of each sample of one series; empty where there are none."""
    values: list[float | None] = []
    for key in series["evidence"].get(metric, ()):
        record = records.get(key)
        if record is None or record.status != "ok":
            return []
        try:
            evidence = Evidence.from_arrays(store.load(record))
        except StoreError:
            return []
        if "value" not in evidence.rows:  # a score of the set
            return []
        pairs = zip(evidence["value"].tolist(), evidence.defined.tolist(), strict=True)
        values += [value if defined else None for value, defined in pairs]
    return values[: series["samples"]]
