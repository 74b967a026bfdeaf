"""Which methods change their rank between two columns of scores, and how many would if only the samples changed.

Ranks are those of boards: scores that differ by less than a millionth of the largest tie, and ties share their average
rank. A method *moves* if its rank is not the same on both sides. Methods *coincide* if their scores are written alike
on both sides (one map under two names): the order of such methods is rounding, so that moves are also counted with one
method of each such group. ``moves_by_resampling`` compares the ranking of a column with its ranking on resamples of its
samples.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from assay.core.evidence import Score
from assay.stats.agreement import FEWEST_METHODS, complete_methods, spearman, too_few
from assay.stats.intervals import CONFIDENCE
from assay.stats.ranks import rounded_ranks

RESAMPLES = 1000  # of the samples

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Column:
    """One side: scores by method. A method has one name on both sides."""

    scores: Mapping[str, Score]
    higher_is_better: bool

    def values(self, methods: Sequence[str], seed: int | None = None) -> Numbers:
        """Averaged over seeds, or of one seed; NaN where there is none."""
        scores = [self.scores[name] for name in methods]
        return np.array([score.value if seed is None else score.per_seed[seed] for score in scores], np.float64)

    def ranks(self, values: Numbers) -> Numbers:
        return rounded_ranks(-values if self.higher_is_better else values)


@dataclass(frozen=True)
class Moves:
    """How many methods move on average, and in 95 % of the resamples."""

    value: float | None  # None with the reason
    low: float | None = None
    high: float | None = None
    reason: str = ""


@dataclass(frozen=True)
class Slope:
    """Two rankings of the same methods."""

    methods: tuple[str, ...]  # best first on the left: both columns give them a value in every seed
    moves: int | None = None  # of the scores averaged over seeds; None with the reason
    moves_without_coinciding: int | None = None  # with one of each group that coincides
    correlation: float | None = None  # Spearman's; None if all methods tie on one side
    moves_per_seed: tuple[int | None, ...] = ()  # None where no method has a value
    ranks: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # left and right, 1 is best
    coinciding: tuple[tuple[str, ...], ...] = ()  # groups of two methods or more
    reason: str = ""

    @property
    def mean_moves(self) -> float | None:
        """Over seeds."""
        defined = [count for count in self.moves_per_seed if count is not None]
        return float(np.mean(defined)) if defined else None


def slope(left: Column, right: Column, written: Callable[[float], str]) -> Slope:
    """The rankings by two columns of the methods that both score; ``written`` is how boards print a score."""
    methods, columns = complete_methods(right.scores, left.scores), (left, right)
    if len(methods) < FEWEST_METHODS:
        return Slope(methods, reason=too_few(len(methods)))
    methods = tuple(methods[index] for index in np.argsort(left.ranks(left.values(methods)), kind="stable"))
    values = [column.values(methods) for column in columns]
    before, after = (column.ranks(row).tolist() for column, row in zip(columns, values, strict=True))
    groups = _coinciding(values, written)
    firsts = [group[0] for group in groups]
    seeds = range(len(left.scores[methods[0]].per_seed))
    return Slope(
        methods,
        moves=_moves(columns, values),
        moves_without_coinciding=_moves(columns, [row[firsts] for row in values]),
        correlation=spearman(before, after),
        moves_per_seed=tuple(_moves(columns, [column.values(methods, seed) for column in columns]) for seed in seeds),
        ranks=dict(zip(methods, zip(before, after, strict=True), strict=True)),
        coinciding=tuple(tuple(methods[index] for index in group) for group in groups if len(group) > 1),
    )


def _coinciding(values: Sequence[Numbers], written: Callable[[float], str]) -> list[list[int]]:
    """The places of methods, those together whose scores are written alike on both sides."""
    groups: dict[tuple[str, ...], list[int]] = {}
    for place, pair in enumerate(np.stack(values, axis=1).tolist()):
        groups.setdefault(tuple(map(written, pair)), []).append(place)
    return list(groups.values())


def _moves(columns: Sequence[Column], values: Sequence[Numbers]) -> int | None:
    """None where the methods have no value."""
    before, after = (column.ranks(row) for column, row in zip(columns, values, strict=True))
    return None if np.isnan(values[0]).any() else int((before != after).sum())


def moves_by_resampling(per_seed: Sequence[Numbers], shared: bool, resamples: int = RESAMPLES) -> Moves:
    """The moves from the ranking of a column to its ranking on resamples of the samples.

    ``per_seed``: the values (methods, samples) of each seed, NaN where undefined. ``shared``: the seeds have the same
    samples, which are drawn for all of them.
    """
    if not per_seed or any(values.shape[1] < 2 for values in per_seed):
        return Moves(None, reason="fewer than two samples")
    whole = _means([(values, np.ones((1, values.shape[1]))) for values in per_seed])
    drawn = _means(
        [(values, _times(values.shape[1], 0 if shared else seed, resamples)) for seed, values in enumerate(per_seed)]
    )
    before = rounded_ranks(whole[0])
    moves = [int((rounded_ranks(means) != before).sum()) for means in drawn if np.isfinite(means).all()]
    if not moves:
        return Moves(None, reason="a method is undefined on nearly all samples")
    low, high = np.quantile(moves, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Moves(float(np.mean(moves)), float(low), float(high))


def _times(samples: int, stream: int, resamples: int) -> Numbers:
    """How often each sample is in each resample."""
    random = np.random.default_rng([0, stream])
    return random.multinomial(samples, np.full(samples, 1 / samples), resamples).astype(np.float64)


def _means(seeds: Sequence[tuple[Numbers, Numbers]]) -> Numbers:
    """(resamples, methods): means of the defined samples, averaged over seeds; NaN where one has none."""
    means = []
    for values, times in seeds:
        defined = ~np.isnan(values)
        with np.errstate(invalid="ignore"):
            means.append(times @ np.where(defined, values, 0.0).T / (times @ defined.T.astype(np.float64)))
    return np.asarray(np.mean(means, axis=0))
