"""Ranks of methods; ties share their average rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

ROUNDING = 1e-6  # relative to the largest value: closer methods share a rank


def ranks(values: Mapping[str, float | None], higher_is_better: bool) -> dict[str, float | None]:
    """Ranks by name; 1 is best. Values that differ by less than a millionth of the largest tie."""
    defined = {name: value for name, value in values.items() if value is not None}
    if not defined:
        return dict.fromkeys(values)
    numbers = np.array(list(defined.values()))
    ranked = dict(zip(defined, rounded_ranks(-numbers if higher_is_better else numbers), strict=True))
    return {name: float(ranked[name]) if name in ranked else None for name in values}


def rounded_ranks(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 for the smallest; those that differ by less than a millionth of the largest tie."""
    return average_ranks(joined_within(numbers, rounding_of(numbers)))


def average_ranks(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 for the smallest; as ``scipy.stats.rankdata``, which takes a second to import."""
    _, groups, sizes = np.unique(numbers, return_inverse=True, return_counts=True)
    return (np.cumsum(sizes) - (sizes - 1) / 2)[groups]


def rounding_of(*numbers: NDArray[np.float64]) -> float:
    """The difference up to which numbers count as equal: a millionth of the largest finite one."""
    return ROUNDING * max(float(np.abs(row[np.isfinite(row)]).max(initial=0)) for row in numbers)


def rounded_differences(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """Left minus right; 0 where they are equal up to rounding."""
    differences = left - right
    return np.where(np.abs(differences) <= rounding_of(left, right), 0.0, differences)


def joined_within(numbers: NDArray[np.float64], distance: float) -> NDArray[np.float64]:
    """Neighbours within a distance become equal to the smallest of them."""
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    with np.errstate(invalid="ignore"):  # differences of infinite values may be NaN
        begins = np.diff(ordered, prepend=-np.inf) > distance
    begins[0] = True
    joined = np.empty_like(numbers)
    joined[order] = ordered[np.maximum.accumulate(np.where(begins, np.arange(len(ordered)), 0))]
    return joined


def rank_label(rank: float, column: Sequence[float]) -> str:
    """A rank as a table shows it: "1", or "1 =" if it is shared; ``column`` has all ranks of its column."""
    tied = column.count(rank)
    return f"{rank - (tied - 1) / 2:.0f}{' =' if tied > 1 else ''}"


def mean_ranks(per_column: Mapping[str, Mapping[str, float | None]]) -> dict[str, float | None]:
    """Mean rank over columns; None for a method without a rank in one of them."""
    names = {name: None for column in per_column.values() for name in column}
    means: dict[str, float | None] = {}
    for name in names:
        row = [column.get(name) for column in per_column.values()]
        defined = [rank for rank in row if rank is not None]
        means[name] = float(np.mean(defined)) if defined and len(defined) == len(row) else None
    return means
