"""How many rows would decide: z grows with the root of the rows, an interval's half-width shrinks with it."""

from __future__ import annotations

import math

import scipy  # its parts are imported where they are used: scipy.stats takes a second

from assay.stats.holm import SIGNIFICANCE

MOST_ROWS = 100_000  # that anybody would compute


def times_for_significance(p: float, tests: int) -> float:
    """How many times the rows bring a one-sided p to significance among so many tests; infinite if none do."""
    z = -float(scipy.special.ndtri(p))
    return (float(scipy.special.ndtri(SIGNIFICANCE / tests)) / z) ** 2 if z > 0 else math.inf


def times_for_limit(mean: float, upper: float, margin: float) -> float:
    """How many times the rows bring the upper limit of a mean below a margin; infinite if none do."""
    return ((upper - mean) / (margin - mean)) ** 2 if mean < margin else math.inf


def rows_needed(rows: int, times: float) -> int | None:
    """So many times the rows; None above ``MOST_ROWS``."""
    return math.ceil(rows * times) if rows * times <= MOST_ROWS else None
