"""How often 95 % intervals cover, on data whose truth is known: ``python -m assay.stats.coverage`` prints the table.

Every case draws seeds, then 16 samples in each. Spread is the standard deviation between seeds over that between
samples of one seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.core.evidence import Evidence, Reduce, Score, mean_score
from assay.stats.intervals import Interval, interval

SAMPLES = 16  # in each seed
SEEDS = (1, 2, 3, 5, 10)
SPREADS = (0.0, 0.3, 1.0, 3.0)
REPLICATIONS = 2000
RESAMPLED, RESAMPLES = 400, 200  # replications, and resamples in each, where intervals come from resamples
CEILING = 0.98  # share of hits near the ceiling
TENTH = 0.1  # share of samples below the ceiling, evenly between 0 and 1

Numbers = npt.NDArray[np.float64]
Rule = Callable[..., Interval | None]


@dataclass(frozen=True, eq=False)
class Drawn:
    """Samples (seeds, samples), and what their score would be with endlessly many of them: in each seed."""

    samples: Numbers
    truth: Numbers


@dataclass(frozen=True)
class Population:
    """Data to draw, and a score for each seed of it."""

    data: str
    score: str
    draw: Callable[[int, float, np.random.Generator], Drawn]
    reduce: Reduce
    truth: Callable[[], float]  # of the score, over endlessly many seeds
    bounds: tuple[float, float] | None = None


@dataclass(frozen=True)
class Covered:
    """How many of the intervals that there are hold the truth, as shares."""

    population: float  # the truth of endlessly many seeds
    draw: float  # the truth of the first seed that was drawn
    without: float  # share of cases without an interval


def covered(
    population: Population,
    seeds: int,
    spread: float | None,
    replications: int = REPLICATIONS,
    resamples: int = RESAMPLES,
    rule: Rule = interval,
) -> Covered:
    """What a rule covers; with ``spread`` None, seeds draw samples only, and the rule knows it."""
    random, truth = np.random.default_rng([seeds, int(10 * (spread or 0))]), population.truth()
    given, whole, own = 0, 0, 0
    for _ in range(replications):
        drawn = population.draw(seeds, spread or 0.0, random)
        rows = [Evidence({"value": row} if population.score == "mean" else {"own": row}) for row in drawn.samples]
        found = rule(rows, population.reduce, spread is not None, population.bounds, resamples=resamples)
        if found is None or found.low is None or found.high is None:
            continue
        given += 1
        whole += found.low <= truth <= found.high
        own += bool(found.low <= drawn.truth[0] <= found.high)
    least = max(given, 1)
    return Covered(whole / least, own / least, 1 - given / replications)


def table(replications: int = REPLICATIONS) -> Iterator[str]:
    """The table, line by line, in Markdown."""
    heads = ["data", "score", "spread", "1 seed: its draw", "1 seed: all draws", *(f"{n} seeds" for n in SEEDS[1:])]
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * 3}{'---:|' * (len(heads) - 3)}"
    for population in POPULATIONS:
        for spread in (*SPREADS, None):
            cells: list[str] = []
            for seeds in SEEDS:
                found = covered(population, seeds, spread, *_effort(population, seeds, spread, replications))
                cells += [_cell(found.draw, found.without)] if seeds == 1 else []
                cells += [_cell(found.population, found.without)]
            name = "samples only" if spread is None else f"{spread:g}"
            yield f"| {' | '.join([population.data, population.score, name, *cells])} |"


def _effort(population: Population, seeds: int, spread: float | None, replications: int) -> tuple[int, int]:
    """How many replications, and resamples in each: resampling takes long, and two draws never have an interval."""
    resampled = population.score != "mean" and seeds <= 2
    return min(replications, RESAMPLED) if resampled or (seeds == 2 and spread is not None) else replications, RESAMPLES


def _cell(share: float, without: float) -> str:
    """A share, and in brackets how many cases have no interval."""
    if without == 1:
        return "none"
    return f"{share:.3f}" + (f" ({without:.0%} none)" if without >= 0.005 else "")


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
    """A share for each seed, of a beta distribution: so far apart that hits and misses have the spread."""
    return random.beta(mean / spread**2, (1 - mean) / spread**2, seeds) if spread else np.full(seeds, mean)


def _near_ceiling(seeds: int, spread: float, random: np.random.Generator) -> Drawn:
    """Hits and misses."""
    share = _shares(CEILING, seeds, spread, random)
    return Drawn((random.random((seeds, SAMPLES)) < share[:, None]).astype(np.float64), share)


def _partly(seeds: int, spread: float, random: np.random.Generator) -> Drawn:
    """Most samples at 1, the others anywhere below."""
    share = _shares(TENTH, seeds, spread, random)
    below = random.random((seeds, SAMPLES)) < share[:, None]
    return Drawn(np.where(below, random.random((seeds, SAMPLES)), 1.0), 1 - share / 2)


def _median(evidence: Evidence) -> Score:
    ordered = np.sort(evidence["own"]).astype(np.float64)
    return Score(float(ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2, len(ordered), len(ordered))


def _accuracy(evidence: Evidence) -> Score:
    return Score(float(evidence["own"].mean()), len(evidence), len(evidence))


@cache
def _skewed_median() -> float:
    """The median of 16 skewed samples, on average; as many sets as leave it an error of 0.0005."""
    sets = _log_normal((200_000, SAMPLES), np.random.default_rng(0))
    return float(np.median(sets, axis=1).mean())


def _median_of(drawn: Drawn, centre: float) -> Drawn:
    return Drawn(drawn.samples, drawn.truth + centre)


POPULATIONS = (
    Population("normal", "mean", _normal, mean_score, lambda: 0.0),
    Population("normal", "median", _normal, _median, lambda: 0.0),
    Population("skewed", "mean", _skewed, mean_score, lambda: 0.0),
    Population(
        "skewed", "median", lambda *given: _median_of(_skewed(*given), _skewed_median()), _median, _skewed_median
    ),
    Population("a tenth below the ceiling", "mean", _partly, mean_score, lambda: 1 - TENTH / 2, (0.0, 1.0)),
    Population("near the ceiling", "mean", _near_ceiling, mean_score, lambda: CEILING, (0.0, 1.0)),
    Population("near the ceiling", "accuracy", _near_ceiling, _accuracy, lambda: CEILING, (0.0, 1.0)),
)


def main() -> None:
    from rich.console import Console
    from rich.progress import track

    lines, total = table(), 2 + len(POPULATIONS) * (len(SPREADS) + 1)
    print("\n".join(track(lines, "simulating", total=total, console=Console(stderr=True))))


if __name__ == "__main__":
    main()
