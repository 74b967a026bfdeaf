"""All methods compared in pairs, by one metric in one environment: which differences are more than chance?

``docs/statistics.md`` has the rules and how often they err.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import numpy.typing as npt

from assay.stats.friedman import Friedman, friedman
from assay.stats.groups import groups
from assay.stats.holm import SIGNIFICANCE, holm, largest_family, units_needed
from assay.stats.intervals import FEWEST_SEEDS
from assay.stats.paired import student_difference
from assay.stats.ranks import rounded_differences, rounded_ranks
from assay.stats.signed_rank import signed_rank_test

RESAMPLES = 1000  # of units, for intervals of mean ranks

Numbers = npt.NDArray[np.float64]
Values = Mapping[str, Sequence[float | None]]  # by method: its value in each unit, None where it is undefined


@dataclass(frozen=True)
class Pair:
    """Two methods on the units in which both have a value."""

    left: str
    right: str
    units: int
    difference: float | None  # mean of left minus right; None without a unit
    low: float | None  # its 95 % interval, of this pair alone; None for fewer than three units
    high: float | None
    effect: float  # rank-biserial correlation: 1 if left is better in all units, -1 if right is
    p: float
    p_holm: float = 1.0

    @property
    def separated(self) -> bool:
        return self.p_holm <= SIGNIFICANCE


@dataclass(frozen=True)
class MeanRank:
    """The mean rank of a method over the units in which all methods have a value; 1 is best."""

    method: str
    mean: float
    low: float  # 95 % of resamples of the units
    high: float


@dataclass(frozen=True)
class Comparison:
    """All pairs of methods, by one metric in one environment."""

    unit: str  # seeds, samples
    units: int
    complete: int  # units in which all methods have a value: mean ranks and Friedman's test rest on these
    methods: tuple[str, ...]  # best first: by mean rank, or without one by mean value
    pairs: tuple[Pair, ...]  # the better method is left
    groups: tuple[tuple[str, ...], ...]  # that cannot be separated
    mean_ranks: tuple[MeanRank, ...]  # empty if fewer than two units are complete
    friedman: Friedman | None

    @property
    def can_separate(self) -> bool:
        """Whether a difference can be significant at all: if not, there are too few units for so many pairs."""
        return largest_family(self.units) >= len(self.pairs)

    @property
    def units_needed(self) -> int:
        return units_needed(len(self.pairs))


def compare(values: Values, higher_is_better: bool, unit: str = "seeds") -> Comparison | None:
    """The comparison of all methods that have a value; None if these are fewer than two, or units are."""
    sign = 1 if higher_is_better else -1
    strengths = {  # larger is better; NaN where undefined
        name: sign * np.array([np.nan if value is None else value for value in row], np.float64)
        for name, row in values.items()
        if any(value is not None for value in row)
    }
    units = max((len(row) for row in strengths.values()), default=0)
    if len(strengths) < 2 or units < 2:
        return None
    unit_ranks = _unit_ranks(np.array(list(strengths.values())).T)
    by_method = {row.method: row for row in _mean_ranks(tuple(strengths), unit_ranks)}
    mean = {name: by_method[name].mean if by_method else 0.0 for name in strengths}
    methods = tuple(sorted(strengths, key=lambda name: (mean[name], -np.nanmean(strengths[name]))))
    pairs = _corrected([_pair(left, right, strengths, sign) for left, right in combinations(methods, 2)])
    separated = {frozenset((pair.left, pair.right)) for pair in pairs if pair.separated}
    return Comparison(
        unit,
        units,
        len(unit_ranks),
        methods,
        pairs,
        groups(methods, separated),
        tuple(by_method[name] for name in methods if by_method),
        friedman(unit_ranks),
    )


def _unit_ranks(strengths: Numbers) -> Numbers:
    """The ranks of all methods in each unit that is complete (units, methods)."""
    rows = -strengths[~np.isnan(strengths).any(axis=1)]
    return np.array([rounded_ranks(row) for row in rows]) if len(rows) else rows


def _mean_ranks(methods: Sequence[str], unit_ranks: Numbers) -> list[MeanRank]:
    """Mean ranks, with outer quantiles over resamples of the units, which all methods share."""
    units = len(unit_ranks)
    if units < 2:
        return []
    times = np.random.default_rng(0).multinomial(units, np.full(units, 1 / units), RESAMPLES)
    low, high = np.quantile(times @ unit_ranks / units, [SIGNIFICANCE / 2, 1 - SIGNIFICANCE / 2], axis=0)
    columns = zip(methods, unit_ranks.mean(axis=0), low, high, strict=True)
    return [MeanRank(name, *map(float, numbers)) for name, *numbers in columns]


def _pair(left: str, right: str, strengths: Mapping[str, Numbers], sign: int) -> Pair:
    both = ~np.isnan(strengths[left]) & ~np.isnan(strengths[right])
    stronger, weaker = strengths[left][both], strengths[right][both]
    units, test = len(stronger), signed_rank_test(stronger, weaker)
    difference = sign * float(rounded_differences(stronger, weaker).mean()) if units else None
    paired = student_difference(sign * stronger, sign * weaker) if units >= FEWEST_SEEDS else None
    low, high = (paired.low, paired.high) if paired else (None, None)
    return Pair(left, right, units, difference, low, high, test.effect, test.p)


def _corrected(pairs: Sequence[Pair]) -> tuple[Pair, ...]:
    corrected = holm([pair.p for pair in pairs])
    return tuple(replace(pair, p_holm=p_holm) for pair, p_holm in zip(pairs, corrected, strict=True))
