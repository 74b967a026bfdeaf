"""Friedman's test: do methods differ at all, by their ranks in each unit? And Nemenyi's critical difference."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
import scipy  # its parts are imported where they are used: scipy.stats takes a second

from assay.stats.holm import SIGNIFICANCE

FEWEST_METHODS = 3


@dataclass(frozen=True)
class Friedman:
    """The result of a test."""

    statistic: float  # chi-square, with one degree of freedom less than there are methods
    p: float
    agreement: float  # Kendall's W: 1 if all units rank alike, 0 if mean ranks are equal


def friedman(ranks: npt.NDArray[np.float64]) -> Friedman | None:
    """The test of ranks (units, methods); None for fewer than two units or three methods."""
    units, methods = ranks.shape
    if units < 2 or methods < FEWEST_METHODS:
        return None
    if not np.ptp(ranks, axis=1).any():  # all tie in all units: the statistic would be 0 / 0
        return Friedman(0.0, 1.0, 0.0)
    centred = ranks - (methods + 1) / 2
    statistic = float((methods - 1) * np.square(centred.sum(axis=0)).sum() / np.square(centred).sum())
    return Friedman(statistic, float(scipy.special.chdtrc(methods - 1, statistic)), statistic / (units * (methods - 1)))


@cache
def critical_difference(methods: int, units: int) -> float:
    """Nemenyi's: mean ranks further apart differ significantly."""
    quantile = float(scipy.stats.studentized_range.ppf(1 - SIGNIFICANCE, methods, np.inf)) / np.sqrt(2)
    return float(quantile * np.sqrt(methods * (methods + 1) / (6 * units)))
