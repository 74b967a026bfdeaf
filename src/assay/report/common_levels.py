"""Scores at levels that all methods reach, for metrics whose value is a mean over the levels that a map reaches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.core.errors import StoreError
from assay.core.evidence import Score
from assay.core.records import Record
from assay.engine.store.protocol import RunStore
from assay.report.components import Component, by_label
from assay.report.text import listed
from assay.stats.common_levels import Numbers, common_levels, mean_at
from assay.stats.seed_mean import seed_mean

if TYPE_CHECKING:
    from assay.report.board import Board


@dataclass(frozen=True)
class CommonLevels:
    """One metric in one environment: methods compared at the levels that all of them reach in every seed."""

    environment: str
    metric: str
    levels: tuple[float, ...]  # empty: there is none
    asked: tuple[float, ...]  # the levels of the metric
    scores: Mapping[str, Score]  # by method, best first; controls may miss a level, and then have no value

    @property
    def is_news(self) -> bool:
        """Whether it differs from the board: some method misses a level."""
        return len(self.levels) < len(self.asked)

    @property
    def title(self) -> str:
        return f"{self.metric} at common levels: {self.environment}"

    def notes(self) -> Iterator[str]:
        if not self.levels:
            yield f"no level of {self.metric} is reached by all methods: nothing to compare"
        else:
            levels = listed([f"{level:g}" for level in self.levels])
            yield f"every method reaches {levels}, and a mean over other levels says nothing about a difference"

    def to_json(self) -> dict[str, Any]:
        names = ("value", "low", "high", "basis", "per_seed")
        scores = {name: {field: getattr(score, field) for field in names} for name, score in self.scores.items()}
        place = {"environment": self.environment, "metric": self.metric}
        return {**place, "levels": list(self.levels), "asked": list(self.asked), "methods": scores}


def levels_in_common(
    run: Record, store: RunStore, boards: Sequence[Board], records: Mapping[str, Record]
) -> tuple[CommonLevels, ...]:
    """For every metric with levels and every board of two methods or more."""
    metrics = {name: found for name, found in by_label(run, "metrics").items() if _levels(found)}
    controls = {name for name, found in by_label(run, "methods").items() if found.control}
    return tuple(
        _at_common_levels(board, metric, store, records, controls)
        for board in boards
        for metric in metrics.values()
        if metric.label in board.metrics and len(board.lines) > 1
    )


def _levels(metric: Component) -> tuple[float, ...]:
    """Of a metric that is a mean over levels which a map may reach or not."""
    levels = metric.spec.get("levels") if metric.card.fact("compared_at_levels") else None
    return tuple(level for level in levels if isinstance(level, float)) if isinstance(levels, tuple) else ()


def _at_common_levels(
    board: Board, metric: Component, store: RunStore, records: Mapping[str, Record], controls: set[str]
) -> CommonLevels:
    curves = {
        line.method: found
        for line in board.lines
        if line.cells[metric.label].value is not None
        and (found := _seed_curves(store, records, line.cells[metric.label])) is not None
    }
    deciding = [curve for name, found in curves.items() if name not in controls for curve in found]
    levels = common_levels(deciding, _levels(metric))
    bounds = metric.card.fact("range", (-np.inf, np.inf))
    scores = {name: _score([mean_at(curve, levels) for curve in found], bounds) for name, found in curves.items()}
    values = {name: -np.inf if score.value is None else score.value for name, score in scores.items()}
    best_first = {name: scores[name] for name in sorted(scores, key=values.__getitem__, reverse=True)}
    return CommonLevels(board.environment, metric.label, levels, _levels(metric), best_first)


def _seed_curves(store: RunStore, records: Mapping[str, Record], score: Score) -> Numbers | None:
    try:
        arrays = store.load(records[score.key])
    except StoreError:
        return None
    return np.asarray(arrays["seed_curves"], np.float64) if "seed_curves" in arrays else None


def _score(per_seed: Sequence[float | None], bounds: tuple[float, float]) -> Score:
    """The mean over seeds and its interval; undefined where a seed has no value."""
    if any(value is None for value in per_seed):
        return Score(None, len(per_seed), per_seed=tuple(per_seed))
    return seed_mean(per_seed, bounds)
