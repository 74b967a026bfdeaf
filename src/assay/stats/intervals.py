"""95 % confidence intervals of scores: 95 % of them should contain the value of infinitely many draws.

What is drawn together is one unit: the seed where a seed draws a model, the sample where it draws samples only.
``docs/intervals.md`` has the rule, its reasons, and how often its intervals cover (``benchmarks/coverage.py``).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy  # its parts are imported where they are used: scipy.stats takes a second

from assay.core.evidence import Array, Evidence, Reduce, Score, mean_score
from assay.stats.ranks import ROUNDING

RULE = 4  # part of a score's key: raise it whenever intervals or units change
CONFIDENCE = 0.95  # of an interval
RESAMPLES = 1000  # for metrics without a value per sample
FEWEST_SEEDS = 3  # for an interval over seeds
SHARED = 0.05  # of all samples: seeds that have so few in common are units

Numbers = npt.NDArray[np.float64]
Limits = tuple[float, float]


@dataclass(frozen=True, eq=False)
class _Seeds:
    """The seeds in which a value is defined."""

    evidence: Sequence[Evidence]
    values: Numbers  # one score per seed
    means: bool  # whether a score is the mean of the samples' values
    bounds: Limits | None
    identities: Sequence[Sequence[Hashable]] | None  # of the samples, per seed; None: all samples differ

    def sample_numbers(self) -> tuple[int, list[npt.NDArray[np.int64]]]:
        """The number of distinct samples, and per seed the sample number of each row of evidence."""
        return sample_numbers(self.evidence, self.identities)

    def are_units(self) -> bool:
        """Whether the seeds have samples of their own."""
        return are_separate(self.sample_numbers()[0], self.evidence)


def interval(
    per_seed: Sequence[Evidence],
    reduce: Reduce = mean_score,
    draws_model: bool = True,
    bounds: Limits | None = None,
    identities: Sequence[Sequence[Hashable]] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
    yes_or_no: bool = False,
    resampled: bool = True,
) -> Score | None:
    """The mean over seeds of the reduced value, with its interval; None if no seed defines it.

    ``bounds`` is the range that the metric promises. ``identities`` names the samples of each seed, so that equal
    samples are recognised; None: no two are the same. ``yes_or_no``: seeds score 1 or 0, and the value is a share.
    ``resampled``: False for a value that depends on how many different samples there are, as no resample has it.
    """
    scores = [reduce(evidence) for evidence in per_seed]
    values_per_seed = tuple(None if score.value is None else float(score.value) for score in scores)
    defined_seeds = [index for index, value in enumerate(values_per_seed) if value is not None]
    if not defined_seeds:
        return None
    values = np.array([values_per_seed[index] for index in defined_seeds], dtype=np.float64)
    if not np.isfinite(values).all():
        raise ValueError("the metric's reduce returned NaN or an infinite value; undefined is None")
    evidence = [per_seed[index] for index in defined_seeds]
    means = are_means(evidence, reduce, values)
    defined_identities = None if identities is None else [identities[index] for index in defined_seeds]
    seeds = _Seeds(evidence, values, means, bounds, defined_identities)
    if draws_model and (yes_or_no or len(defined_seeds) > 1):
        limits, basis = _over_seeds(seeds, yes_or_no)
    elif means:
        limits, basis = _over_samples(seeds)
    elif len(defined_seeds) >= FEWEST_SEEDS and seeds.are_units():
        limits, basis = _over_seeds(seeds)
    elif resampled:
        limits, basis = _over_resamples(seeds, reduce, resamples, seed)
    else:
        limits, basis = None, "count"
    basis = "draw" if draws_model and basis == "samples" else basis
    low, high = limits or (None, None)
    count, defined = sum(score.count for score in scores), sum(score.defined for score in scores)
    mean = float(values.mean())
    return Score(mean, int(count), int(defined), low=low, high=high, per_seed=values_per_seed, basis=basis)


def _over_seeds(seeds: _Seeds, yes_or_no: bool = False) -> tuple[Limits | None, str]:
    if yes_or_no:  # a share of models, also if all are equal
        return _share_limits(float(seeds.values.mean()), len(seeds.values)), "seeds"
    if _equal(seeds.values):
        return None, "equal"
    if len(seeds.values) < FEWEST_SEEDS:
        return None, "two"
    limits = _student(seeds.values, np.full(len(seeds.values), 1 / len(seeds.values)))
    if not seeds.means:
        return _within(limits, seeds.values, seeds.bounds), "seeds"
    samples = np.concatenate([_defined_values(evidence) for evidence in seeds.evidence])
    limits = _widened_near_ends(limits, samples, len(samples), float(seeds.values.mean()))
    return _within(limits, samples, seeds.bounds), "seeds"


def _over_samples(seeds: _Seeds) -> tuple[Limits | None, str]:
    """Student's t over samples. A sample of several seeds is one unit: its mean over them, with its total weight."""
    count, numbers = seeds.sample_numbers()
    weight, total = np.zeros(count), np.zeros(count)
    for evidence, row_samples in zip(seeds.evidence, numbers, strict=True):
        values, defined_samples = _defined_values(evidence), row_samples[evidence.defined]
        np.add.at(weight, defined_samples, 1 / (len(values) * len(seeds.values)))
        np.add.at(total, defined_samples, values / (len(values) * len(seeds.values)))
    units, weight = total[weight > 0] / weight[weight > 0], weight[weight > 0]
    if _equal(units):
        return None, "equal"
    trials = 1 / float(np.square(weight).sum())
    limits = _widened_near_ends(_student(units, weight), units, trials, float(weight @ units))
    return _within(limits, units, seeds.bounds), "samples"


def _over_resamples(seeds: _Seeds, reduce: Reduce, resamples: int, seed: int) -> tuple[Limits | None, str]:
    """Outer quantiles over resamples with replacement; a sample of several seeds is drawn for all of them."""
    (count, numbers), draws = seeds.sample_numbers(), []
    for times in np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), resamples):
        rows = (np.arange(len(row_samples)).repeat(times[row_samples]) for row_samples in numbers)
        drawn = [evidence.take(chosen) for evidence, chosen in zip(seeds.evidence, rows, strict=True) if len(chosen)]
        values = [reduce(evidence).value for evidence in drawn]
        defined = [value for value in values if value is not None]
        if defined:
            draws.append(float(np.mean(defined)))
    if not draws:
        return None, ""
    low, high = np.quantile(draws, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return (None, "equal") if _equal(np.array([low, high])) else ((float(low), float(high)), "samples")


def _student(units: Numbers, weight: Numbers) -> Limits:
    """Student's t around the weighted sum of the units."""
    error = units.std(ddof=1) * np.sqrt(np.square(weight).sum())
    half = scipy.special.stdtrit(len(units) - 1, (1 + CONFIDENCE) / 2) * error
    return float(weight @ units - half), float(weight @ units + half)


def _widened_near_ends(limits: Limits, units: Numbers, trials: float, value: float) -> Limits:
    """Limits widened if at least half of the samples share the lowest or the highest value, as at a metric's ceiling.

    There the observed spread says little about the true spread. A mean of numbers between two ends varies no more than
    a share with the same mean, so the interval for a share is wide enough. The ends are the observed extremes.
    """
    low, high = float(units.min()), float(units.max())
    slack = ROUNDING * max(abs(low), abs(high))
    if max(np.mean(units <= low + slack), np.mean(units >= high - slack)) < 0.5 or high - low <= slack:
        return limits
    low_share, high_share = _share_limits((value - low) / (high - low), trials)
    return min(limits[0], low + low_share * (high - low)), max(limits[1], low + high_share * (high - low))


def _within(limits: Limits, units: Numbers, bounds: Limits | None) -> Limits:
    """Limits clipped to the promised range, if all values are inside it."""
    if bounds is None or not _inside(units, bounds):
        return limits
    return max(limits[0], min(bounds[0], float(units.min()))), min(limits[1], max(bounds[1], float(units.max())))


def _inside(units: Numbers, bounds: Limits) -> bool:
    slack = ROUNDING * np.abs(units).max()
    return bool(units.min() >= bounds[0] - slack and units.max() <= bounds[1] + slack)


def _share_limits(share: float, trials: float) -> Limits:
    """Clopper and Pearson's interval for a share; the numbers of hits and trials need not be whole."""
    hits = min(max(share, 0.0), 1.0) * trials
    misses, tail = trials - hits, (1 - CONFIDENCE) / 2
    low = float(scipy.special.betaincinv(hits, misses + 1, tail)) if hits > 0 else 0.0
    return low, float(scipy.special.betaincinv(hits + 1, misses, 1 - tail)) if misses > 0 else 1.0


def are_separate(count: int, per_seed: Sequence[Evidence]) -> bool:
    """Whether seeds that have ``count`` different samples together hardly share any."""
    total = sum(map(len, per_seed))
    return total - count <= SHARED * total


def sample_numbers(
    per_seed: Sequence[Evidence], identities: Sequence[Sequence[Hashable]] | None
) -> tuple[int, list[npt.NDArray[np.int64]]]:
    """The number of distinct samples, and per seed the sample number of each row of evidence."""
    if identities is None:
        ends = np.cumsum([len(evidence) for evidence in per_seed])
        return int(ends[-1]), np.split(np.arange(ends[-1]), ends[:-1])
    number_of: dict[Hashable, int] = {}
    numbers = [
        [number_of.setdefault(identity, len(number_of)) for identity in seed_identities]
        for seed_identities in identities
    ]
    return len(number_of), [np.array(row, dtype=np.int64) for row in numbers]


def are_means(per_seed: Sequence[Evidence], reduce: Reduce, values: Numbers) -> bool:
    """Whether the values of seeds, made by ``reduce``, are means over their samples."""
    if reduce is mean_score:
        return True
    if not all("value" in evidence.rows and evidence.defined.any() for evidence in per_seed):
        return False
    return bool(np.allclose([_defined_values(evidence).mean() for evidence in per_seed], values, rtol=1e-9, atol=0))


def _defined_values(evidence: Evidence) -> Numbers:
    """The values of the defined samples."""
    return evidence["value"][evidence.defined].astype(np.float64)


def _equal(values: Numbers) -> bool:
    """Whether all values are equal up to rounding, as in ranks."""
    return bool(np.ptp(values) <= ROUNDING * np.abs(values).max())


def mean_curve(scores: Sequence[Score]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]] | None:
    """Per point the mean over seeds that define it (0 if none does) and whether one does; None without curves."""
    with_curve = [score for score in scores if score.curve is not None]
    if not with_curve:
        return None
    curves = np.array([score.curve for score in with_curve], dtype=np.float64)
    defined = np.array([_curve_defined(score) for score in with_curve])
    mean = curves.sum(axis=0, where=defined) / np.maximum(defined.sum(axis=0), 1)
    return mean, np.asarray(defined.any(axis=0))


def seed_curves(scores: Sequence[Score], axis: Array) -> npt.NDArray[np.float64]:
    """(S, 2, K): of every seed what its curve is drawn over, and the curve; NaN where it is undefined."""
    curves = np.full((len(scores), 2, len(axis)), np.nan)
    for both, score in zip(curves, scores, strict=True):
        if score.curve is not None:
            both[:] = np.where(_curve_defined(score), [axis if score.at is None else score.at, score.curve], np.nan)
    return curves


def mean_axis(scores: Sequence[Score], axis: Array) -> Array:
    """The x values of the mean curve: ``axis``, or the mean of the scores' own x values over those that define a
    point."""
    with_axis = [score for score in scores if score.at is not None and score.curve is not None]
    if not with_axis:
        return np.asarray(axis)
    at = np.array([score.at for score in with_axis], np.float64)
    defined = np.array([_curve_defined(score) for score in with_axis])
    counts = defined.sum(axis=0)
    mean = at.sum(axis=0, where=defined) / np.maximum(counts, 1)
    return np.where(counts > 0, mean, at.mean(axis=0))


def _curve_defined(score: Score) -> npt.NDArray[np.bool_]:
    assert score.curve is not None
    return np.ones(len(score.curve), dtype=bool) if score.curve_defined is None else score.curve_defined
