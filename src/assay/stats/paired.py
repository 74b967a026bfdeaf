"""Two maps judged by one metric on the same samples: which of them is better, and is it more than chance?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import t as student

from assay.core.evidence import Evidence, Reduce, mean_score

RESAMPLES = 2000
ROUNDING = 1e-6  # relative to the largest value: differences below this are none


@dataclass(frozen=True)
class Paired:
    """The mean of left minus right, with its interval; ``count`` samples define both."""

    mean: float
    low: float
    high: float
    count: int


def paired(left: Evidence, right: Evidence, reduce: Reduce = mean_score, level: float = 0.95) -> Paired | None:
    """The difference between two maps of the same samples; None where fewer than two samples define both.

    Where a sample has a value, t over the samples' differences; of a set-level metric, the percentiles of a bootstrap
    that draws the same samples for both.
    """
    both = np.flatnonzero(left.defined & right.defined)
    if len(both) < 2:
        return None
    one, other = left.take(both), right.take(both)
    if "value" in one.rows:
        return _by_t(one["value"].astype(np.float64), other["value"].astype(np.float64), level)
    return _by_bootstrap(one, other, reduce, level)


def _by_t(left: npt.NDArray[np.float64], right: npt.NDArray[np.float64], level: float) -> Paired:
    found = left - right
    found[np.abs(found) <= ROUNDING * max(np.abs(left).max(), np.abs(right).max())] = 0.0
    mean, count = float(found.mean()), len(found)
    half = float(student.ppf((1 + level) / 2, count - 1) * found.std(ddof=1) / np.sqrt(count))
    return Paired(mean, mean - half, mean + half, count)


def _by_bootstrap(left: Evidence, right: Evidence, reduce: Reduce, level: float) -> Paired | None:
    rng = np.random.default_rng(0)
    whole = _difference(left, right, reduce)
    draws = [rng.integers(len(left), size=len(left)) for _ in range(RESAMPLES)]
    found = [_difference(left.take(rows), right.take(rows), reduce) for rows in draws]
    known = np.array([value for value in found if value is not None])
    if whole is None or not len(known):
        return None
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    return Paired(whole, float(low), float(high), len(left))


def _difference(left: Evidence, right: Evidence, reduce: Reduce) -> float | None:
    one, other = reduce(left).value, reduce(right).value
    return None if one is None or other is None else one - other
