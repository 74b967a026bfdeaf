"""Ranks: who comes first, with ties sharing their average rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

ROUNDING = 1e-6  # of the largest value: methods that are as good as equal share a rank


def ranks(values: Mapping[str, float | None], higher_is_better: bool) -> dict[str, float | None]:
    """Rank 1 is best. Values that differ by rounding tie: by less than a millionth of the largest."""
    known = {name: value for name, value in values.items() if value is not None}
    if not known:
        return dict.fromkeys(values)
    numbers = _without_rounding(np.array(list(known.values())))
    ranked = dict(zip(known, rankdata(-numbers if higher_is_better else numbers), strict=True))
    return {name: float(ranked[name]) if name in ranked else None for name in values}


def _without_rounding(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Neighbours within ``ROUNDING`` of the largest become equal to the smallest of them."""
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    finite = np.abs(ordered[np.isfinite(ordered)])
    with np.errstate(invalid="ignore"):  # infinite values are as far apart as they are
        begins = np.diff(ordered, prepend=-np.inf) > ROUNDING * finite.max(initial=0)
    begins[0] = True
    found = np.empty_like(numbers)
    found[order] = ordered[np.maximum.accumulate(np.where(begins, np.arange(len(ordered)), 0))]
    return found


def place(rank: float, column: Sequence[float]) -> str:
    """The place behind a rank among all ranks of its column: "1", or "1 =" for those that share it."""
    tied = column.count(rank)
    return f"{rank - (tied - 1) / 2:.0f}{' =' if tied > 1 else ''}"


def mean_ranks(per_column: Mapping[str, Mapping[str, float | None]]) -> dict[str, float | None]:
    """Mean rank over columns; None for a method that misses one: nothing is averaged over missing cells."""
    names = {name: None for column in per_column.values() for name in column}
    found: dict[str, float | None] = {}
    for name in names:
        row = [column.get(name) for column in per_column.values()]
        known = [rank for rank in row if rank is not None]
        found[name] = float(np.mean(known)) if known and len(known) == len(row) else None
    return found
