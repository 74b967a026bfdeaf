"""Two maps judged by one metric on the same samples: the difference of their scores, with its interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy  # its parts are imported where they are used: scipy.stats takes a second

from assay.core.evidence import Evidence, Reduce, mean_score
from assay.stats.ranks import rounded_differences

RESAMPLES = 2000


@dataclass(frozen=True)
class Paired:
    """The mean of left minus right, with its interval; ``count`` samples define both."""

    mean: float
    low: float
    high: float
    count: int


def paired(left: Evidence, right: Evidence, reduce: Reduce = mean_score, level: float = 0.95) -> Paired | None:
    """The difference between two maps of the same samples; None if fewer than two samples define both.

    The interval is Student's t over the samples' differences. For a set-level metric it is the percentiles of a
    bootstrap that draws the same samples for both.
    """
    both = np.flatnonzero(left.defined & right.defined)
    if len(both) < 2:
        return None
    left_both, right_both = left.take(both), right.take(both)
    if "value" in left_both.rows:
        return student_difference(left_both["value"].astype(np.float64), right_both["value"].astype(np.float64), level)
    return _by_bootstrap(left_both, right_both, reduce, level)


def student_difference(left: npt.NDArray[np.float64], right: npt.NDArray[np.float64], level: float = 0.95) -> Paired:
    """The mean difference of paired values, two or more, with Student's t."""
    differences = rounded_differences(left, right)
    mean, count = float(differences.mean()), len(differences)
    half = float(scipy.special.stdtrit(count - 1, (1 + level) / 2) * differences.std(ddof=1) / np.sqrt(count))
    return Paired(mean, mean - half, mean + half, count)


def _by_bootstrap(left: Evidence, right: Evidence, reduce: Reduce, level: float) -> Paired | None:
    rng = np.random.default_rng(0)
    difference = _difference(left, right, reduce)
    draws = [rng.integers(len(left), size=len(left)) for _ in range(RESAMPLES)]
    differences = [_difference(left.take(rows), right.take(rows), reduce) for rows in draws]
    defined = np.array([value for value in differences if value is not None])
    if difference is None or not len(defined):
        return None
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return Paired(difference, float(low), float(high), len(left))


def _difference(left: Evidence, right: Evidence, reduce: Reduce) -> float | None:
    left_value, right_value = reduce(left).value, reduce(right).value
    return None if left_value is None or right_value is None else left_value - right_value
