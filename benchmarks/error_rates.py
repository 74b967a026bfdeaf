"""How often comparisons of methods err: ``python -m benchmarks.error_rates`` prints the tables.

Every unit draws a difficulty that all methods share, and noise for each of them with standard deviation 1. Without a
difference, all methods have the same mean. With one, a method is better by ``GAIN`` than the others, which are equal.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from assay.stats.comparison import Comparison, compare
from assay.stats.friedman import critical_difference
from assay.stats.holm import SIGNIFICANCE, largest_family, smallest_p, units_needed
from benchmarks.tables import Row, show

UNITS = (4, 10, 20)
METHODS = (3, 10)
GAIN = 1.5  # of the better method, in standard deviations of the noise
REPLICATIONS = 500

Numbers = npt.NDArray[np.float64]
Noise = Callable[[np.random.Generator, tuple[int, int]], Numbers]


@dataclass(frozen=True)
class ErrorRates:
    """Shares of replications, by both rules."""

    family_wise: float  # Wilcoxon and Holm: a difference is found between two equal methods
    power: float  # the share of pairs with the better method that are separated
    nemenyi_family_wise: float
    nemenyi_power: float
    covered: float  # the share of intervals of mean ranks that contain the true one, if all methods are alike


def measure(methods: int, units: int, gain: float, noise: Noise, replications: int = REPLICATIONS) -> ErrorRates:
    """The rates of both rules for one better method among equal ones; with a gain of 0, all are equal."""
    random = np.random.default_rng([methods, units, int(10 * gain)])
    names = [str(index) for index in range(methods)]
    better = "0" if gain else ""
    true_rank = None if gain else (methods + 1) / 2
    rows: list[tuple[float, ...]] = []
    for _ in range(replications):
        values = random.normal(size=(units, 1)) + noise(random, (units, methods))
        values[:, 0] += gain
        comparison = compare(dict(zip(names, values.T.tolist(), strict=True)), True)
        assert comparison is not None
        wilcoxon = {frozenset((pair.left, pair.right)) for pair in comparison.pairs if pair.separated}
        covered = [true_rank is not None and rank.low <= true_rank <= rank.high for rank in comparison.mean_ranks]
        errors = (*_errors(wilcoxon, names, better), *_errors(_nemenyi(comparison), names, better))
        rows.append((*errors, float(np.mean(covered))))
    return ErrorRates(*map(float, np.mean(rows, axis=0)))


def _errors(separated: set[frozenset[str]], names: list[str], better: str) -> tuple[bool, float]:
    """Whether equal methods are separated, and the share of unequal pairs that are."""
    unequal = {frozenset((better, name)) for name in names if better and name != better}
    return bool(separated - unequal), len(separated & unequal) / max(len(unequal), 1)


def _nemenyi(comparison: Comparison) -> set[frozenset[str]]:
    """Pairs whose mean ranks differ by the critical difference, if Friedman's test finds any difference."""
    if comparison.friedman is not None and comparison.friedman.p > SIGNIFICANCE:
        return set()
    least = critical_difference(len(comparison.methods), comparison.complete)
    ranks = combinations(comparison.mean_ranks, 2)
    return {frozenset((one.method, other.method)) for one, other in ranks if abs(one.mean - other.mean) >= least}


def _normal(random: np.random.Generator, shape: tuple[int, int]) -> Numbers:
    return random.normal(size=shape)


def _skewed(random: np.random.Generator, shape: tuple[int, int]) -> Numbers:
    """Log-normal, mean 0 and standard deviation 1."""
    return np.asarray((random.lognormal(size=shape) - np.exp(0.5)) / np.sqrt((np.e - 1) * np.e))


def _mixed(random: np.random.Generator, shape: tuple[int, int]) -> Numbers:
    """Every other method skewed: equal means, but differences that are not symmetric around 0."""
    return np.where(np.arange(shape[1]) % 2, _skewed(random, shape), _normal(random, shape))


NOISES: dict[str, Noise] = {"normal": _normal, "skewed": _skewed, "every other skewed": _mixed}


def what_units_can_show() -> Iterator[Row]:
    """By number of units: the smallest probability, and the largest family in which it survives."""
    for units in (*range(2, 13), 15, 20):
        family = largest_family(units)
        methods = max((count for count in range(2, 1000) if count * (count - 1) // 2 <= family), default=0)
        most = {"pairs at most": family or "none", "methods at most": methods or "none"}
        yield {"units": units, "smallest p": f"{smallest_p(units):.2g}", **most}


def what_methods_need() -> Iterator[Row]:
    """By number of methods: the pairs, and the fewest units."""
    for methods in (2, 3, 5, 8, 10, 15, 20, 30):
        family = methods * (methods - 1) // 2
        yield {"methods": methods, "pairs": family, "units needed": units_needed(family)}


def table(replications: int = REPLICATIONS) -> Iterator[Row]:
    """Error rates."""
    for name, noise in NOISES.items():
        for methods in METHODS:
            for units in UNITS:
                equal, unequal = (measure(methods, units, gain, noise, replications) for gain in (0.0, GAIN))
                rates = {
                    "error": max(equal.family_wise, unequal.family_wise),
                    "power": unequal.power,
                    "Nemenyi: error": max(equal.nemenyi_family_wise, unequal.nemenyi_family_wise),
                    "Nemenyi: power": unequal.nemenyi_power,
                }
                cells = {head: f"{rate:.3f}" for head, rate in rates.items()}
                covered = "" if noise is _mixed else f"{equal.covered:.3f}"
                yield {"noise": name, "methods": methods, "units": units, **cells, "rank intervals": covered}


def main(arguments: Sequence[str]) -> None:
    show(arguments, (what_units_can_show(), 0), (what_methods_need(), 0), (table(), 1))


if __name__ == "__main__":
    main(sys.argv[1:])
