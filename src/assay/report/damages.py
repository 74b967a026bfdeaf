"""How metrics respond to damage: an original map, a Remove- and an Introduce-damaged one, found in a run's methods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.core.evidence import Score, read_score
from assay.core.records import Record
from assay.core.spec import Spec
from assay.engine.store.protocol import RunStore
from assay.report.agreements import WITHOUT_INTERVAL, seeds_are_independent
from assay.report.components import by_label
from assay.report.text import counted, listed, number
from assay.stats.damage import NO_POINTS, STATES, Points, Response, curve_points, read_seed_curves, response
from assay.studies.study import Entry, Study

if TYPE_CHECKING:
    from assay.report.board import Board

DAMAGED = "damaged"  # the method
NOTICED = 0.05  # (ours) smallest distance of curves in 0..1 that count as different; see docs/statistics.md
PAIR_NAMES = {"original": "original", "remove": "Remove", "introduce": "Introduce"}


@dataclass(frozen=True)
class Triplet:
    """Labels of three methods: one map as it is, and damaged in both directions."""

    original: str
    scheme: str
    remove: str
    introduce: str

    def labels(self) -> dict[str, str]:
        return dict(zip(STATES, (self.original, self.remove, self.introduce), strict=True))


@dataclass(frozen=True)
class DamageRow:
    """One metric's response to one damage in one environment."""

    environment: str
    metric: str
    triplet: Triplet
    response: Response
    curve: bool  # distances of curves, or else differences of values
    reason: str = ""  # why there is no distance

    @property
    def name(self) -> str:
        return f"{self.triplet.original}, {self.triplet.scheme}"

    def to_json(self) -> dict[str, Any]:
        found = self.response
        pairs = {f"{left}-{right}": _numbers(mean) for (left, right), mean in found.pairs.items()}
        names = {"environment": self.environment, "metric": self.metric, **vars(self.triplet), "curve": self.curve}
        return {
            **names,
            "distances": pairs,
            "minimum": _numbers(found.minimum),
            "minimum_of_means": found.of_means,
            "reason": self.reason,
        }


def _numbers(mean: Score) -> dict[str, Any]:
    return {name: getattr(mean, name) for name in ("value", "low", "high", "basis", "per_seed")}


@dataclass(frozen=True)
class DamageTable:
    """All metrics in one environment."""

    environment: str
    rows: tuple[DamageRow, ...]
    bounded: frozenset[str]  # metrics whose curves lie in 0..1 or -1..1, where ``NOTICED`` means something

    @property
    def title(self) -> str:
        return f"Response to damage, smallest of three distances: {self.environment}"

    @property
    def metrics(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(row.metric for row in self.rows))

    @property
    def names(self) -> tuple[str, ...]:
        """Of the damages: method and scheme."""
        return tuple(dict.fromkeys(row.name for row in self.rows))

    def row(self, name: str, metric: str) -> DamageRow | None:
        return next((row for row in self.rows if (row.name, row.metric) == (name, metric)), None)

    def of_metric(self, metric: str) -> tuple[DamageRow, ...]:
        return tuple(row for row in self.rows if row.metric == metric)

    def sentences(self) -> Iterator[str]:
        """The answer in words: which metrics notice the damage."""
        minima = {
            metric: {row.name: row.response.minimum.value for row in self.of_metric(metric)} for metric in self.metrics
        }
        known = {
            metric: {name: value for name, value in values.items() if value is not None}
            for metric, values in minima.items()
        }
        ordered = sorted((metric for metric in known if known[metric]), key=lambda m: -_mean(known[m].values()))
        for metric in ordered:
            yield _sentence(metric, known[metric], metric in self.bounded)
        yield from _order(ordered, known)
        if missing := [metric for metric in known if not known[metric]]:
            yield f"{listed(missing)}: no distance."

    def notes(self) -> Iterator[str]:
        """What the numbers are."""
        curves = [row.metric for row in self.rows if row.curve]
        values = [row.metric for row in self.rows if not row.curve and row.response.minimum.value is not None]
        if curves:
            yield (
                "symmetric Hausdorff distance of curves, in the units of their axes; the smallest of the pairs "
                "original and Remove, original and Introduce, Remove and Introduce"
            )
            yield f"a metric notices a damage where this distance is {NOTICED:g} or more (ours)"
            yield "chance adds to these distances where samples are few"
        if values:
            yield f"difference of values, where there is no curve: {listed(list(dict.fromkeys(values)))}"
        means = [row.response.minimum for row in self.rows]
        seeds = max((len(mean.per_seed) for mean in means), default=0)
        if any(mean.basis == "seeds" for mean in means):
            yield f"mean of the distances in each seed, 95 % interval over {counted(seeds, 'seed')}"
        yield from (text for basis, text in WITHOUT_INTERVAL.items() if any(mean.basis == basis for mean in means))
        yield from dict.fromkeys(row.reason for row in self.rows if row.reason)


def _sentence(metric: str, minima: Mapping[str, float], bounded: bool) -> str:
    span = f"{number(min(minima.values()))} to {number(max(minima.values()))}"
    distances = f"smallest distances {span}, mean {number(_mean(minima.values()))}"
    if not bounded:
        return f"{metric}: {distances}; its numbers have no fixed range."
    missed = [name for name, value in minima.items() if value < NOTICED]
    if not missed:
        return f"{metric} notices {'all ' if len(minima) > 1 else ''}{counted(len(minima), 'damage')}: {distances}."
    if len(missed) == len(minima):
        return f"{metric} notices none of {counted(len(minima), 'damage')}: {distances}."
    return (
        f"{metric} notices {len(minima) - len(missed)} of {counted(len(minima), 'damage')}, "
        f"not {listed(missed)}: {distances}."
    )


def _order(ordered: Sequence[str], minima: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    """What is true of every damage: the least response of one metric is above the greatest of others."""
    for metric in ordered:
        least = min(minima[metric].values())
        below = [other for other in ordered if max(minima[other].values()) < least]
        if below:
            greatest = max(max(minima[other].values()) for other in below)
            values = f"({number(least)}) is above the greatest of {listed(below)} ({number(greatest)})"
            yield f"Even the least of {metric} {values}."


def _mean(values: Any) -> float:
    return float(np.mean(list(values)))


def triplets(methods: Sequence[Entry]) -> tuple[Triplet, ...]:
    """Originals with both damaged siblings: equal inner methods, questions and schemes. An original has no scheme."""
    damaged = [entry for entry in methods if entry.spec.name == DAMAGED]
    found = []
    for original in (entry for entry in damaged if entry.spec.get("change") == "none"):
        siblings = [entry for entry in damaged if _map(entry) == _map(original)]
        removed, introduced = (
            [entry for entry in siblings if entry.spec.get("change") == change] for change in STATES[1:]
        )
        pairs = [(one, two) for one in removed for two in introduced if _damage(one.spec) == _damage(two.spec)]
        schemes = [one.spec.get("scheme") for one, _ in pairs]
        for one, two in pairs:
            scheme = str(one.spec.get("scheme"))
            several = schemes.count(one.spec.get("scheme")) > 1
            text = f"{scheme} ({one.label}; {two.label})" if several else scheme
            found.append(Triplet(original.label, text, one.label, two.label))
    return tuple(found)


def _map(entry: Entry) -> tuple[Any, ...]:
    """What is damaged."""
    return entry.spec.get("of"), entry.spec.get("transform"), entry.question, entry.only


def _damage(spec: Spec) -> tuple[Any, ...]:
    """What both directions of a damage have in common."""
    scheme = spec.get("scheme")
    return scheme, spec.get("size") if scheme in ("constant", "random") else None


def damage_tables(
    run: Record, study: Study, store: RunStore, boards: Sequence[Board], records: Mapping[str, Record]
) -> tuple[DamageTable, ...]:
    """By environment; none where a study has no triplet."""
    found, metrics = triplets(study.methods), by_label(run, "metrics")
    tables = []
    for board in boards if found else ():
        reader = _Reader(store, records, seeds_are_independent(board, store, records))
        cells = {line.method: line.cells for line in board.lines}
        rows = [
            _row(
                board,
                metric,
                triplet,
                {state: cells[label][metric] for state, label in triplet.labels().items()},
                reader,
            )
            for metric in board.metrics
            for triplet in found
            if all(label in cells for label in triplet.labels().values())
        ]
        if rows:
            bounded = frozenset(metric for metric in board.metrics if metrics[metric].bounded)
            tables.append(DamageTable(board.environment, tuple(rows), bounded))
    return tuple(tables)


def _row(board: Board, metric: str, triplet: Triplet, scores: Mapping[str, Score], reader: _Reader) -> DamageRow:
    """``scores``: of each state."""
    for state, score in scores.items():
        if score.status != "ok":
            nothing = dict.fromkeys(STATES, NO_POINTS)
            reason = f"{triplet.labels()[state]} by {metric}: {score.status}"
            return DamageRow(board.environment, metric, triplet, response([nothing], nothing), False, reason)
    points = {state: reader.points(score) for state, score in scores.items()}
    seeds = min(len(found.per_seed) for found in points.values())
    per_seed = [{state: found.per_seed[seed] for state, found in points.items()} for seed in range(seeds)]
    of_means = {state: found.of_means for state, found in points.items()}
    computed = response(per_seed, of_means, reader.independent)
    curve = any(found.curve for found in points.values())
    reason = "" if computed.minimum.value is not None else f"no distance by {metric}: a map has no defined point"
    return DamageRow(board.environment, metric, triplet, computed, curve, reason)


@dataclass(frozen=True)
class _ScorePoints:
    per_seed: Sequence[Points]
    of_means: Points
    curve: bool  # or values


@dataclass(frozen=True)
class _Reader:
    """Reads the points of scores from the store."""

    store: RunStore
    records: Mapping[str, Record]
    independent: bool  # whether seeds have samples or models of their own

    def points(self, score: Score) -> _ScorePoints:
        arrays = self.store.load(self.records[score.key])
        mean = read_score(self.records[score.key], arrays=arrays)
        if mean.curve is None or mean.at is None:
            values = [NO_POINTS if value is None else np.array([[value]]) for value in score.per_seed]
            return _ScorePoints(values, NO_POINTS if score.value is None else np.array([[score.value]]), False)
        averaged = curve_points(mean)
        return _ScorePoints(read_seed_curves(arrays) or [averaged], averaged, True)
