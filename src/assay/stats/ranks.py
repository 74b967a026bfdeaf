"""Ranks: who comes first, with ties sharing their average rank."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.stats import rankdata


def ranks(values: Mapping[str, float | None], higher_is_better: bool) -> dict[str, float | None]:
    """Rank 1 is best. Values are rounded to 1e-6 first, so that methods which tie up to rounding tie."""
    known = {name: value for name, value in values.items() if value is not None}
    if not known:
        return dict.fromkeys(values)
    numbers = np.round(np.array(list(known.values())), 6)
    ranked = dict(zip(known, rankdata(-numbers if higher_is_better else numbers), strict=True))
    return {name: float(ranked[name]) if name in ranked else None for name in values}


def mean_ranks(per_column: Mapping[str, Mapping[str, float | None]]) -> dict[str, float | None]:
    """Mean rank over columns; None for a method that misses one: nothing is averaged over missing cells."""
    names = {name: None for column in per_column.values() for name in column}
    found: dict[str, float | None] = {}
    for name in names:
        row = [column.get(name) for column in per_column.values()]
        known = [rank for rank in row if rank is not None]
        found[name] = float(np.mean(known)) if known and len(known) == len(row) else None
    return found
