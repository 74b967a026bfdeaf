"""Intervals that cover: 95 % of them should hold what the value would be with endlessly many draws.

What is drawn together is one unit. Where a seed draws a model, the seed is the unit; where it draws samples only, the
sample is. ``docs/intervals.md`` has the rule, its reasons, and how often its intervals cover, as ``stats/coverage.py``
prints it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, stdtrit

from assay.core.evidence import Array, Evidence, Reduce, Score, mean_score
from assay.stats.ranks import ROUNDING

RULE = 2  # raised when other intervals come out: part of a score's key
LEVEL = 0.95
RESAMPLES = 1000  # where a metric has no value per sample
FEWEST = 3  # seeds whose spread says something

Numbers = npt.NDArray[np.float64]
Limits = tuple[float, float]


@dataclass(frozen=True)
class Interval:
    """A value with its interval; ``low`` and ``high`` are None where there is none."""

    value: float
    low: float | None
    high: float | None
    per_seed: tuple[float | None, ...]
    count: int  # samples over all seeds
    defined: int  # of these, how many the value rests on
    basis: str  # seeds, samples, draw (samples of one draw of the model), two (seeds), equal, or "": none was found


@dataclass(frozen=True, eq=False)
class _Seeds:
    """The seeds in which a value is defined."""

    evidence: Sequence[Evidence]
    values: Numbers  # the score of each
    means: bool  # whether a score is the mean of values that samples have
    bounds: Limits | None
    who: Sequence[Sequence[Hashable]] | None  # what tells the samples of all seeds from one another

    def numbered(self) -> tuple[int, list[npt.NDArray[np.int64]]]:
        """How many samples there are, and for each row of evidence the number of its sample."""
        if self.who is None:
            ends = np.cumsum([len(evidence) for evidence in self.evidence])
            return int(ends[-1]), np.split(np.arange(ends[-1]), ends[:-1])
        known: dict[Hashable, int] = {}
        numbers = [[known.setdefault(name, len(known)) for name in names] for names in self.who]
        return len(known), [np.array(row, dtype=np.int64) for row in numbers]

    def repeat(self) -> bool:
        """Whether a sample is in several seeds."""
        return self.numbered()[0] < sum(len(evidence) for evidence in self.evidence)


def interval(
    per_seed: Sequence[Evidence],
    reduce: Reduce = mean_score,
    draws_model: bool = True,
    bounds: Limits | None = None,
    who: Sequence[Sequence[Hashable]] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval | None:
    """The mean over seeds of the reduced value, with its interval; None when it is defined nowhere.

    ``bounds`` is the range that the metric promises. ``who`` has what tells samples from one another, seed by seed;
    None: no two are the same.
    """
    scores = [reduce(evidence) for evidence in per_seed]
    found = tuple(None if score.value is None else float(score.value) for score in scores)
    known = [index for index, value in enumerate(found) if value is not None]
    if not known:
        return None
    values = np.array([found[index] for index in known], dtype=np.float64)
    if not np.isfinite(values).all():
        raise ValueError("the metric's reduce returned NaN or an infinite value; undefined is None")
    evidence = [per_seed[index] for index in known]
    means, names = _are_means(evidence, reduce, values), None if who is None else [who[index] for index in known]
    seeds = _Seeds(evidence, values, means, bounds, names)
    if draws_model and len(known) > 1:
        limits, basis = _over_seeds(seeds)
    elif means:
        limits, basis = _over_samples(seeds)
    elif len(known) >= FEWEST and not seeds.repeat():
        limits, basis = _over_seeds(seeds)
    else:
        limits, basis = _over_resamples(seeds, reduce, resamples, seed)
    basis = "draw" if draws_model and basis == "samples" else basis
    low, high = limits or (None, None)
    count, defined = sum(score.count for score in scores), sum(score.defined for score in scores)
    return Interval(float(values.mean()), low, high, found, int(count), int(defined), basis)


def _over_seeds(seeds: _Seeds) -> tuple[Limits | None, str]:
    if _equal(seeds.values):
        return None, "equal"
    if len(seeds.values) < FEWEST:
        return None, "two"
    limits = _student(seeds.values, np.full(len(seeds.values), 1 / len(seeds.values)))
    if not seeds.means:
        return _within(limits, seeds.values, seeds.bounds), "seeds"
    samples = np.concatenate([_own(evidence) for evidence in seeds.evidence])
    limits = _over_a_pile(limits, samples, len(samples), float(seeds.values.mean()))
    return _within(limits, samples, seeds.bounds), "seeds"


def _over_samples(seeds: _Seeds) -> tuple[Limits | None, str]:
    """A sample that several seeds have is one unit: its mean over them, with its weight in the score."""
    count, numbers = seeds.numbered()
    weight, total = np.zeros(count), np.zeros(count)
    for evidence, number in zip(seeds.evidence, numbers, strict=True):
        own, place = _own(evidence), number[evidence.defined]
        np.add.at(weight, place, 1 / (len(own) * len(seeds.values)))
        np.add.at(total, place, own / (len(own) * len(seeds.values)))
    units, weight = total[weight > 0] / weight[weight > 0], weight[weight > 0]
    if _equal(units):
        return None, "equal"
    trials = 1 / float(np.square(weight).sum())
    limits = _over_a_pile(_student(units, weight), units, trials, float(weight @ units))
    return _within(limits, units, seeds.bounds), "samples"


def _over_resamples(seeds: _Seeds, reduce: Reduce, resamples: int, seed: int) -> tuple[Limits | None, str]:
    """Outer quantiles of values from samples drawn with replacement; one that several seeds have is drawn for all."""
    (count, numbers), draws = seeds.numbered(), []
    for times in np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), resamples):
        rows = (np.arange(len(number)).repeat(times[number]) for number in numbers)
        drawn = [evidence.take(picked) for evidence, picked in zip(seeds.evidence, rows, strict=True) if len(picked)]
        values = [reduce(evidence).value for evidence in drawn]
        known = [value for value in values if value is not None]
        if known:
            draws.append(float(np.mean(known)))
    if not draws:
        return None, ""
    low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return (None, "equal") if _equal(np.array([low, high])) else ((float(low), float(high)), "samples")


def _student(units: Numbers, weight: Numbers) -> Limits:
    """Student's t around the weighted sum of the units."""
    error = units.std(ddof=1) * np.sqrt(np.square(weight).sum())
    half = stdtrit(len(units) - 1, (1 + LEVEL) / 2) * error
    return float(weight @ units - half), float(weight @ units + half)


def _over_a_pile(limits: Limits, units: Numbers, trials: float, value: float) -> Limits:
    """Widened where at least half of the samples share the lowest or the highest value, as on a metric's ceiling.

    There the spread that is seen says little about the spread there is. No mean of numbers between two ends spreads
    more than a share does, so that the interval for a share is wide enough; the ends are those that were seen.
    """
    first, last = float(units.min()), float(units.max())
    slack = ROUNDING * max(abs(first), abs(last))
    if max(np.mean(units <= first + slack), np.mean(units >= last - slack)) < 0.5 or last - first <= slack:
        return limits
    least, most = _share_limits((value - first) / (last - first), trials)
    return min(limits[0], first + least * (last - first)), max(limits[1], first + most * (last - first))


def _within(limits: Limits, units: Numbers, bounds: Limits | None) -> Limits:
    """Clipped to the promised range, if that promise is kept."""
    if bounds is None or not _inside(units, bounds):
        return limits
    return max(limits[0], min(bounds[0], float(units.min()))), min(limits[1], max(bounds[1], float(units.max())))


def _inside(units: Numbers, bounds: Limits) -> bool:
    slack = ROUNDING * np.abs(units).max()
    return bool(units.min() >= bounds[0] - slack and units.max() <= bounds[1] + slack)


def _share_limits(share: float, trials: float) -> Limits:
    """Clopper and Pearson's interval for a share of so many trials; what was counted need not be whole."""
    hits = min(max(share, 0.0), 1.0) * trials
    misses, tail = trials - hits, (1 - LEVEL) / 2
    low = float(betaincinv(hits, misses + 1, tail)) if hits > 0 else 0.0
    return low, float(betaincinv(hits + 1, misses, 1 - tail)) if misses > 0 else 1.0


def _are_means(per_seed: Sequence[Evidence], reduce: Reduce, values: Numbers) -> bool:
    if reduce is mean_score:
        return True
    if not all("value" in evidence.rows and evidence.defined.any() for evidence in per_seed):
        return False
    return bool(np.allclose([_own(evidence).mean() for evidence in per_seed], values, rtol=1e-9, atol=0))


def _own(evidence: Evidence) -> Numbers:
    """The values of the samples that count."""
    return evidence["value"][evidence.defined].astype(np.float64)


def _equal(values: Numbers) -> bool:
    """Up to rounding, as ranks have it."""
    return bool(np.ptp(values) <= ROUNDING * np.abs(values).max())


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
