"""From evidence to scores: blocks are merged, seeds are kept apart, and nothing is averaged over what is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from assay.core.build import build
from assay.core.drawn import draws_model, identities
from assay.core.evidence import Evidence, Reduce, mean_score, merge
from assay.core.promises import promised_range
from assay.core.protocols import Preparing
from assay.core.records import Record
from assay.core.spec import Spec
from assay.execute.outcome import Made, origin, outcome
from assay.execute.rows import Row
from assay.stats.intervals import RESAMPLES, RULE, Interval, interval, mean_axis, mean_curve
from assay.store.store import Store
from assay.study import grid, keys
from assay.study.grid import Cell
from assay.study.study import Entry, Study


def summarise(study: Study, store: Store, dtype: str = "float32") -> list[Row]:
    """Compute the scores that are not in the store; the rows of the study's result."""
    rows, place = [], cache(lambda spec: build("environments", spec))
    for environment, method, cells in _groups(study, dtype):
        for metric in grid.metrics(study, environment):
            evidence = [[cell.evidence(metric, block) for block in cell.blocks] for cell in cells]
            key = keys.score_key(metric.spec, evidence, environment.samples, (RULE, RESAMPLES))
            if not store.has(key):
                store.put(_score(key, metric, cells, evidence, store, place))
            rows.append(Row(environment.label, method.label, metric.label, key))
    return rows


def _groups(study: Study, dtype: str) -> Iterator[tuple[Entry, Entry, list[Cell]]]:
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in grid.cells(study, dtype):
        groups.setdefault((cell.environment.label, cell.method.label), []).append(cell)
    for cells in groups.values():
        yield cells[0].environment, cells[0].method, cells


def _score(
    key: str,
    metric: Entry,
    cells: Sequence[Cell],
    evidence: Sequence[Sequence[str]],
    store: Store,
    place: Callable[[Spec], Any],
) -> Record:
    found = store.get_many(name for names in evidence for name in names)
    obstacle = _obstacle(cells, evidence, found, store)
    if obstacle is not None:
        status, reason = obstacle
        return Record("score", key, status, reason=reason, origin=origin())  # type: ignore[arg-type]
    samples = cells[0].environment.samples

    def work() -> Made:
        judge, environment = build("metrics", metric.spec), place(cells[0].environment.spec)
        reduce = getattr(judge, "reduce", mean_score)
        per_seed = [_evidence(names, found, store, samples) for names in evidence]
        trains = draws_model(environment) or isinstance(judge, Preparing)  # it prepares, as by retraining, once a seed
        who = None
        if len(cells) > 1 and not trains:
            who = [identities(environment, range(samples), cell.place.data_seed) for cell in cells]
        return _reduced(per_seed, reduce, interval(per_seed, reduce, trains, promised_range(judge), who))

    return outcome("score", key, work, store.save)


def _evidence(names: Sequence[str], found: Mapping[str, Record], store: Store, samples: int) -> Evidence:
    blocks = [Evidence.from_arrays(store.load(found[name])) for name in names]
    return merge(blocks).take(slice(0, samples))


def _obstacle(
    cells: Sequence[Cell], evidence: Sequence[Sequence[str]], found: Mapping[str, Record], store: Store
) -> tuple[str, str] | None:
    """Why there is no score: the first block whose trial or evidence is not ok. Failures before skips."""
    causes: list[tuple[str, str]] = []
    for cell, names in zip(cells, evidence, strict=True):
        for block, name in zip(cell.blocks, names, strict=True):
            record = found.get(name)
            if record is not None and record.status == "ok":
                continue
            record = record or store.get(cell.trial(block))
            if record is None or record.status == "ok":
                causes.append(("failed", "was not computed: run the study again"))
            else:
                causes.append((record.status, record.reason))
    return min(causes, key=lambda cause: cause[0]) if causes else None  # "failed" < "skipped"


def _reduced(per_seed: Sequence[Evidence], reduce: Reduce, found: Interval | None) -> Made:
    scores = [reduce(evidence) for evidence in per_seed]
    drawn = mean_curve(scores)
    arrays: dict[str, Any] = {}
    if drawn is not None:
        arrays = {"curve": drawn[0], "curve_defined": drawn[1], "axis": mean_axis(scores, per_seed[0].axis["curve"])}
    if found is None:
        count, defined = sum(map(len, per_seed)), sum(int(evidence.defined.sum()) for evidence in per_seed)
        nothing: dict[str, Any] = {"value": None, "low": None, "high": None, "per_seed": [], "basis": ""}
        return Made(arrays if defined else {}, {**nothing, "count": count, "defined": defined})
    data = {
        "value": found.value,
        "low": found.low,
        "high": found.high,
        "per_seed": list(found.per_seed),
        "basis": found.basis,
        "count": found.count,
        "defined": found.defined,
        "ceiling": _ceiling(per_seed),
    }
    return Made(arrays, data)


def _ceiling(per_seed: Sequence[Evidence]) -> float | None:
    """The mean of what samples allow at best, where the metric tells it (row ``ceiling``), over those that count."""
    if not all("ceiling" in evidence.rows for evidence in per_seed):
        return None
    return float(np.concatenate([evidence["ceiling"][evidence.defined] for evidence in per_seed]).mean())
