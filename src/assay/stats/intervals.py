"""Bootstrap intervals in two levels: seeds are drawn with replacement, then samples within each drawn seed.

A metric is applied to resampled rows *before* it is reduced, so that set-level metrics (accuracies, curves) get
intervals by the same rule as means.

Percentile intervals from few seeds are too narrow where seeds differ as much as samples do, and more samples per seed
make it worse: give ten seeds or more where that matters. One defined sample gives a point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.core.evidence import Array, Evidence, Reduce, Score, mean_score

RESAMPLES = 1000
LEVEL = 0.95


@dataclass(frozen=True)
class Interval:
    """A value with its percentile interval; ``low`` and ``high`` are None when no resample defines it."""

    value: float
    low: float | None
    high: float | None
    per_seed: tuple[float | None, ...]
    count: int  # samples over all seeds
    defined: int  # of these, how many the value rests on


def interval(
    per_seed: Sequence[Evidence], reduce: Reduce = mean_score, resamples: int = RESAMPLES, seed: int = 0
) -> Interval | None:
    """The mean over seeds of the reduced value, with its interval; None when it is defined nowhere."""
    scores = [reduce(evidence) for evidence in per_seed]
    found = [None if score.value is None else float(score.value) for score in scores]
    values = [value for value in found if value is not None]
    if not values:
        return None
    if not np.isfinite(values).all():
        raise ValueError("the metric's reduce returned NaN or an infinite value; undefined is None")
    rng = np.random.default_rng(seed)
    if reduce is mean_score:
        draws = _resampled_means(per_seed, resamples, rng)
    else:
        draws = np.array([_resampled(per_seed, reduce, rng) for _ in range(resamples)])
    low, high = _bounds(draws)
    count, defined = sum(score.count for score in scores), sum(score.defined for score in scores)
    return Interval(float(np.mean(values)), low, high, tuple(found), int(count), int(defined))


def mean_curve(scores: Sequence[Score]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]] | None:
    """The mean over the seeds that define a point, and where there is one (0 elsewhere); None without curves."""
    drawn = [score for score in scores if score.curve is not None]
    if not drawn:
        return None
    curves = np.array([score.curve for score in drawn], dtype=np.float64)
    defined = np.array([_everywhere(score) for score in drawn])
    mean = curves.sum(axis=0, where=defined) / np.maximum(defined.sum(axis=0), 1)
    return mean, np.asarray(defined.any(axis=0))


def mean_axis(scores: Sequence[Score], axis: Array) -> Array:
    """What the mean curve is drawn over: ``axis``, unless the scores say it themselves: then the mean over those that
    define a point."""
    told = [score for score in scores if score.at is not None and score.curve is not None]
    if not told:
        return np.asarray(axis)
    at, defined = np.array([score.at for score in told], np.float64), np.array([_everywhere(score) for score in told])
    counts = defined.sum(axis=0)
    mean = at.sum(axis=0, where=defined) / np.maximum(counts, 1)
    return np.where(counts > 0, mean, at.mean(axis=0))


def _everywhere(score: Score) -> npt.NDArray[np.bool_]:
    assert score.curve is not None
    return np.ones(len(score.curve), dtype=bool) if score.curve_defined is None else score.curve_defined


def _bounds(draws: npt.NDArray[np.float64]) -> tuple[float | None, float | None]:
    draws = draws[np.isfinite(draws)]
    if len(draws) == 0:
        return None, None
    low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def _resampled(per_seed: Sequence[Evidence], reduce: Reduce, rng: np.random.Generator) -> float:
    picked = rng.integers(len(per_seed), size=len(per_seed))
    values = []
    for index in picked:
        evidence = per_seed[index]
        value = reduce(evidence.take(rng.integers(len(evidence), size=len(evidence)))).value
        if value is not None:
            values.append(value)
    return float(np.mean(values)) if values else np.nan


def _resampled_means(per_seed: Sequence[Evidence], resamples: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """The same as ``_resampled`` for means, all resamples at once."""
    seeds = len(per_seed)
    picked = rng.integers(seeds, size=(resamples, seeds))
    means = np.full((resamples, seeds), np.nan)
    for index, evidence in enumerate(per_seed):
        at = np.nonzero(picked == index)  # every time this seed was drawn, its samples are drawn anew
        rows = rng.integers(len(evidence), size=(len(at[0]), len(evidence)))
        defined = evidence.defined[rows]
        total = (evidence["value"].astype(np.float64)[rows] * defined).sum(axis=1)
        count = defined.sum(axis=1)
        means[at] = np.divide(total, count, out=np.full(len(total), np.nan), where=count > 0)
    known = np.isfinite(means)
    total, count = np.where(known, means, 0).sum(axis=1), known.sum(axis=1)
    return np.divide(total, count, out=np.full(resamples, np.nan), where=count > 0)  # type: ignore[no-any-return]
