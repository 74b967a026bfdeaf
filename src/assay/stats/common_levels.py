"""Curves compared at the same levels: soundness at accuracies that the maps of all methods reach.

A curve is an array (2, points): the level after each step, which need not rise, and the value there; NaN where it is
undefined. Its value at a level is that of the first step with this level or more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]
ROUNDING = 1e-9  # levels that differ by less are equal


def value_at(curve: Numbers, level: float) -> float | None:
    """None if no step reaches the level."""
    reached = np.flatnonzero(curve[0] >= level - ROUNDING)
    return float(curve[1, reached[0]]) if len(reached) else None


def common_levels(curves: Iterable[Numbers], levels: Sequence[float]) -> tuple[float, ...]:
    """The levels that every curve reaches."""
    known = list(curves)
    return tuple(level for level in levels if all(value_at(curve, level) is not None for curve in known))


def mean_at(curve: Numbers, levels: Sequence[float]) -> float | None:
    """The mean of the values at these levels; None if there are none, or one of them is not reached."""
    values = [value for level in levels if (value := value_at(curve, level)) is not None]
    return float(np.mean(values)) if values and len(values) == len(levels) else None
