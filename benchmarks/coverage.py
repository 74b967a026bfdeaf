"""How often 95 % intervals cover a known true score: ``python -m benchmarks.coverage`` prints the table.

Every case draws seeds, then 16 samples in each. Spread is the standard deviation between seeds divided by the standard
deviation between samples of one seed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.core.evidence import Evidence, Reduce, Score, mean_score
from assay.stats.intervals import interval
from benchmarks.tables import Row, show

SAMPLES = 16  # in each seed
SEEDS = (1, 2, 3, 5, 10)
SPREADS = (0.0, 0.3, 1.0, 3.0)
REPLICATIONS = 2000
RESAMPLES = 200  # in each replication, for intervals from resamples
FEW_REPLICATIONS = 400  # where resampling is slow, or there is never an interval
CEILING = 0.98  # expected share of hits, near the ceiling of 1
TENTH = 0.1  # share of samples below the ceiling, uniform between 0 and 1

Numbers = npt.NDArray[np.float64]
Rule = Callable[..., Score | None]


@dataclass(frozen=True, eq=False)
class Drawn:
    """Samples (seeds, samples), and the true score of each seed: its score with infinitely many samples."""

    samples: Numbers
    truth: Numbers


@dataclass(frozen=True)
class Population:
    """A distribution of data, and the score of a seed's samples."""

    data: str
    score: str
    draw: Callable[[int, float, np.random.Generator], Drawn]
    reduce: Reduce
    truth: Callable[[], float]  # the true score, over infinitely many seeds
    bounds: tuple[float, float] | None = None


@dataclass(frozen=True)
class Coverage:
    """The share of intervals that contain a true score."""

    population: float  # of the true score over infinitely many seeds
    draw: float  # of the true score of the first seed drawn
    no_interval: float  # share of replications without an interval


def measure_coverage(
    population: Population,
    seeds: int,
    spread: float | None,
    replications: int = REPLICATIONS,
    resamples: int = RESAMPLES,
    rule: Rule = interval,
) -> Coverage:
    """The coverage of a rule. With ``spread`` None, seeds draw samples only, which the rule gets as an argument."""
    random, truth = np.random.default_rng([seeds, int(10 * (spread or 0))]), population.truth()
    interval_count, population_hits, draw_hits = 0, 0, 0
    for _ in range(replications):
        drawn = population.draw(seeds, spread or 0.0, random)
        rows = [Evidence({"value": row} if population.score == "mean" else {"sample": row}) for row in drawn.samples]
        estimate = rule(rows, population.reduce, spread is not None, population.bounds, resamples=resamples)
        if estimate is None or estimate.low is None or estimate.high is None:
            continue
        interval_count += 1
        population_hits += estimate.low <= truth <= estimate.high
        draw_hits += bool(estimate.low <= drawn.truth[0] <= estimate.high)
    count = max(interval_count, 1)
    return Coverage(population_hits / count, draw_hits / count, 1 - interval_count / replications)


def table(replications: int = REPLICATIONS) -> Iterator[Row]:
    heads = ["1 seed: its draw", "1 seed: all draws", *(f"{n} seeds" for n in SEEDS[1:])]
    for population in POPULATIONS:
        for spread in (*SPREADS, None):
            cells: list[str] = []
            for seeds in SEEDS:
                count = _replications(population, seeds, spread, replications)
                coverage = measure_coverage(population, seeds, spread, count)
                cells += [_cell(coverage.draw, coverage.no_interval)] if seeds == 1 else []
                cells += [_cell(coverage.population, coverage.no_interval)]
            name = "samples only" if spread is None else f"{spread:g}"
            setup = {"data": population.data, "score": population.score, "spread": name}
            yield setup | dict(zip(heads, cells, strict=True))


def _replications(population: Population, seeds: int, spread: float | None, most: int) -> int:
    """How many replications: fewer where resampling is slow, and for two models, which never have an interval."""
    resampled = population.score != "mean" and seeds <= 2
    two_models = seeds == 2 and spread is not None
    return min(most, FEW_REPLICATIONS) if resampled or two_models else most


def _cell(share: float, no_interval: float) -> str:
    """A share, and in brackets the share of replications without an interval."""
    if no_interval == 1:
        return "none"
    return f"{share:.3f}" + (f" ({no_interval:.0%} none)" if no_interval >= 0.005 else "")


def _normal(seeds: int, spread: float, random: np.random.Generator) -> Drawn:
    shift = spread * random.normal(size=seeds)
    return Drawn(shift[:, None] + random.normal(size=(seeds, SAMPLES)), shift)


def _log_normal(size: Any, random: np.random.Generator) -> Numbers:
    """Mean 0 and standard deviation 1."""
    return np.asarray((random.lognormal(size=size) - np.exp(0.5)) / np.sqrt((np.e - 1) * np.e))


def _skewed(seeds: int, spread: float, random: np.random.Generator) -> Drawn:
    shift = spread * _log_normal(seeds, random)
    return Drawn(shift[:, None] + _log_normal((seeds, SAMPLES), random), shift)


def _shares(mean: float, seeds: int, spread: float, random: np.random.Generator) -> Numbers:
    """A share per seed, from a beta distribution whose variance gives hits and misses the spread."""
    return random.beta(mean / spread**2, (1 - mean) / spread**2, seeds) if spread else np.full(seeds, mean)


def _near_ceiling(seeds: int, spread: float, random: np.random.Generator) -> Drawn:
    """Hits and misses, most of them hits."""
    share = _shares(CEILING, seeds, spread, random)
    return Drawn((random.random((seeds, SAMPLES)) < share[:, None]).astype(np.float64), share)


def _tenth_below(seeds: int, spread: float, random: np.random.Generator) -> Drawn:
    """Most samples at 1, the others uniform below."""
    share = _shares(TENTH, seeds, spread, random)
    below = random.random((seeds, SAMPLES)) < share[:, None]
    return Drawn(np.where(below, random.random((seeds, SAMPLES)), 1.0), 1 - share / 2)


def _median(evidence: Evidence) -> Score:
    ordered = np.sort(evidence["sample"]).astype(np.float64)
    return Score(float(ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2, len(ordered), len(ordered))


def _accuracy(evidence: Evidence) -> Score:
    return Score(float(evidence["sample"].mean()), len(evidence), len(evidence))


@cache
def _skewed_median() -> float:
    """The expected median of 16 skewed samples, to an error of 0.0005."""
    sets = _log_normal((200_000, SAMPLES), np.random.default_rng(0))
    return float(np.median(sets, axis=1).mean())


def _with_centre(drawn: Drawn, centre: float) -> Drawn:
    return Drawn(drawn.samples, drawn.truth + centre)


POPULATIONS = (
    Population("normal", "mean", _normal, mean_score, lambda: 0.0),
    Population("normal", "median", _normal, _median, lambda: 0.0),
    Population("skewed", "mean", _skewed, mean_score, lambda: 0.0),
    Population(
        "skewed",
        "median",
        lambda *arguments: _with_centre(_skewed(*arguments), _skewed_median()),
        _median,
        _skewed_median,
    ),
    Population("a tenth below the ceiling", "mean", _tenth_below, mean_score, lambda: 1 - TENTH / 2, (0.0, 1.0)),
    Population("near the ceiling", "mean", _near_ceiling, mean_score, lambda: CEILING, (0.0, 1.0)),
    Population("near the ceiling", "accuracy", _near_ceiling, _accuracy, lambda: CEILING, (0.0, 1.0)),
)


def main(arguments: Sequence[str]) -> None:
    show(arguments, (table(), 3))


if __name__ == "__main__":
    main(sys.argv[1:])
