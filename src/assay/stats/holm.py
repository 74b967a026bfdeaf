"""Holm's correction for several tests, and what a number of units can show at all."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

SIGNIFICANCE = 0.05  # of all tests of a family together


def holm(p_values: Sequence[float]) -> list[float]:
    """Corrected probabilities: where they are at most the level, a difference is significant."""
    corrected, largest = [0.0] * len(p_values), 0.0
    for position, index in enumerate(np.argsort(p_values, kind="stable")):
        largest = max(largest, min(1.0, (len(p_values) - position) * p_values[index]))
        corrected[index] = largest
    return corrected


def smallest_p(units: int, sides: int = 2) -> float:
    """The smallest probability that a signed-rank test of so many units can have: all differences agree."""
    return min(1.0, sides * 2.0 ** -min(units, 1000))  # more would be 0 in floating point


def largest_family(units: int, sides: int = 2) -> int:
    """With more tests than this, no difference can be significant."""
    return math.floor(SIGNIFICANCE / smallest_p(units, sides))


def units_needed(family: int, sides: int = 2) -> int:
    """The fewest units with which a difference can be significant in a family of so many tests."""
    return next(units for units in range(1, 100) if largest_family(units, sides) >= family)
