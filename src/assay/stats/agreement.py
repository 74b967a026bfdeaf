"""How well a metric ranks methods by truth: Spearman's correlation, over methods, of two metrics' scores.

Scores that differ by less than a millionth of the largest tie, and ties share their average rank, as on boards. The
correlation is computed in each seed; the value is the mean over seeds, with Student's t where three seeds or more have
one. ``of_means`` is the correlation of the scores averaged over seeds: it has less noise, and no interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.core.evidence import Score
from assay.stats.ranks import ranks
from assay.stats.seed_mean import seed_mean

FEWEST_METHODS = 3  # two methods agree or disagree, which is no correlation


@dataclass(frozen=True)
class Agreement:
    """The correlation of two metrics over methods."""

    value: float | None  # mean over seeds; None with the reason
    low: float | None = None
    high: float | None = None
    basis: str = ""  # seeds; why there is no interval: two, equal, one, shared (samples); "": no value
    per_seed: tuple[float | None, ...] = ()  # None where all methods tie by one of the metrics
    of_means: float | None = None
    methods: tuple[str, ...] = ()  # that are compared: both metrics give them a value in every seed
    reason: str = ""

    @property
    def count(self) -> int:
        return len(self.per_seed)

    @property
    def defined(self) -> int:
        """Seeds with a correlation."""
        return sum(value is not None for value in self.per_seed)


def spearman(left: Sequence[float], right: Sequence[float]) -> float | None:
    """Spearman's correlation; None if all values of one side tie."""
    sides = [_ranked(left), _ranked(right)]
    if any(np.ptp(side) == 0 for side in sides):
        return None
    return float(np.corrcoef(sides)[0, 1])


def _ranked(values: Sequence[float]) -> np.ndarray:
    return np.array(list(ranks({str(index): value for index, value in enumerate(values)}, False).values()), np.float64)


def agreement(
    metric: Mapping[str, Score], truth: Mapping[str, Score], same_direction: bool, independent: bool = True
) -> Agreement:
    """The agreement of two metrics on the methods that both score.

    ``same_direction``: whether higher values are better by both, or by neither. ``independent``: whether seeds have
    samples or models of their own; without, they allow no interval.
    """
    methods = complete_methods(metric, truth)
    if len(methods) < FEWEST_METHODS:
        return Agreement(None, methods=methods, reason=too_few(len(methods)))
    sign = 1 if same_direction else -1

    def correlation(left: Sequence[float | None], right: Sequence[float | None]) -> float | None:
        pairs = [(sign * a, b) for a, b in zip(left, right, strict=True) if a is not None and b is not None]
        return spearman(*zip(*pairs, strict=True)) if pairs else None

    seeds = range(len(truth[methods[0]].per_seed))
    per_seed = tuple(
        correlation([metric[name].per_seed[seed] for name in methods], [truth[name].per_seed[seed] for name in methods])
        for seed in seeds
    )
    of_means = correlation([metric[name].value for name in methods], [truth[name].value for name in methods])
    return _with_interval(Agreement(None, per_seed=per_seed, of_means=of_means, methods=methods), independent)


def complete_methods(metric: Mapping[str, Score], truth: Mapping[str, Score]) -> tuple[str, ...]:
    """Methods with a value by both metrics in every seed in which any method has one."""
    both = {
        name: [a is not None and b is not None for a, b in zip(metric[name].per_seed, row.per_seed, strict=True)]
        for name, row in truth.items()
        if name in metric
    }
    used = [any(column) for column in zip(*both.values(), strict=True)]
    return tuple(name for name, row in both.items() if any(used) and row == used)


def _with_interval(per_seed_only: Agreement, independent: bool) -> Agreement:
    """The mean over seeds and its interval."""
    mean = seed_mean(per_seed_only.per_seed, (-1.0, 1.0), independent)
    if mean.value is None:
        return replace(per_seed_only, reason="all methods tie")
    return replace(per_seed_only, value=mean.value, low=mean.low, high=mean.high, basis=mean.basis)


def too_few(count: int) -> str:
    return (
        f"{count} {'method has' if count == 1 else 'methods have'} a score by both: {FEWEST_METHODS} or more are needed"
    )
