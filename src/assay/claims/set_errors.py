"""Errors of Algorithm 3 of Li et al. (2024) over sets of small games, by performance indicator and set expansion.

``python -m assay.claims.set_errors [--json]``. The exhaustive errors of single games are in ``expansion_errors``. A set
of games is judged by one number, as the paper judges a data set by its accuracy, so games are drawn.

A game has ``FEATURES`` features, of which about half have information 1 or 2. Its score is the share of its information
that is included; the answer is correct from a share on that each game draws. Performance never falls, and the score is
strictly increasing in information. Attributions are the information, of which each feature's is replaced with a
probability of ``WRONG`` by a number from 0 to 3.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np
import torch
from torch import Generator, Tensor

from assay.core.rng import generator
from assay.metrics._soco_sets import counts_by_mass
from assay.metrics.soundness import Numbers, Rule, first_reaching

FEATURES = 16
WRONG = 0.4
SIZES = (16, 64, 256)  # games in a set
REPEATS = 200  # sets
LEVELS = tuple(step / 10 for step in range(1, 10))
RULE = Rule(threshold=0.01, strict=True, start=-1.0, lag=False)  # the paper's: any step may be false
INDICATORS = ("accuracy", "mean score", "each game's own score")
EXPANSIONS = ("one feature", "two features", "an eighth of the attribution", "four features, halved")
PARTS = 8  # steps of equal attribution
COARSE = 4  # features that the adaptive expansion adds first


@dataclass(frozen=True)
class Error:
    """Soundness by Algorithm 3 minus soundness by Definition 4.8, over the levels that a set's indicator reaches."""

    games: int  # in a set
    indicator: str
    expansion: str
    bias: float
    mean: float  # of the size of the error
    deviation: float  # of the size of the error, over sets
    steps: float  # evaluations of the model for each game


@dataclass(frozen=True)
class Games:
    """A set of games with their features in the order of the attribution, highest first."""

    information: Tensor  # (N, d), float64
    attribution: Tensor  # (N, d), float64, falling
    needed: Tensor  # (N,) the share of information from which the answer is correct


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one document in place of a table")
    found = list(errors())
    if parser.parse_args().json:
        print(json.dumps([asdict(row) for row in found]))
        return
    print(f"{'games':>5}  {'indicator':21}  {'expansion':27}  {'bias':>6}  error  steps")
    for row in found:
        print(
            f"{row.games:5}  {row.indicator:21}  {row.expansion:27}  {row.bias:+.3f}  {row.mean:.3f}  {row.steps:5.1f}"
        )


def errors(repeats: int = REPEATS) -> Iterator[Error]:
    """For every size of a set, indicator and expansion; the same sets for all of them."""
    for size in SIZES:
        sets = [drawn(size, generator("set errors", size, repeat)) for repeat in range(repeats)]
        for indicator in INDICATORS:
            for expansion in EXPANSIONS:
                results = [error(games, indicator, expansion) for games in sets]
                differences = np.array([difference for difference, _ in results])
                distance = np.abs(differences)
                steps = float(np.mean([count for _, count in results]))
                yield Error(
                    size,
                    indicator,
                    expansion,
                    float(differences.mean()),
                    float(distance.mean()),
                    float(distance.std(ddof=1)),
                    steps,
                )


def drawn(size: int, random: Generator) -> Games:
    """Games whose attributions are partly wrong; equal attributions are in a random order."""

    def numbers(low: int, high: int) -> Tensor:
        return torch.randint(low, high, (size, FEATURES), generator=random)

    information = numbers(1, 3) * (numbers(0, 2) == 1)
    information[:, 0] = 1  # no game without information
    wrong = torch.rand(size, FEATURES, generator=random) < WRONG
    attribution = torch.where(wrong, numbers(0, 4), information)
    attribution[:, 1] = attribution[:, 1].clamp(min=1)  # no map without attribution
    shuffled = torch.rand(size, FEATURES, generator=random)
    order = (attribution + 0.5 * shuffled).argsort(dim=1, descending=True)
    needed = 0.2 + 0.7 * torch.rand(size, generator=random)
    return Games(information.gather(1, order).double(), attribution.gather(1, order).double(), needed)


def error(games: Games, indicator: str, expansion: str) -> tuple[float, float]:
    """The mean error over the levels that are reached, and how many evaluations of the model a game takes."""
    score = games.information.cumsum(dim=1) / games.information.sum(dim=1, keepdim=True)
    correct = (score >= games.needed[:, None]).double()
    performance = correct if indicator == INDICATORS[0] else score
    ends = _ends(games, performance.mean(dim=0).numpy(), expansion)
    level = performance.gather(1, ends).mean(dim=0).numpy()
    included = games.attribution.cumsum(dim=1).gather(1, ends).numpy()
    true = (games.attribution * (games.information > 0)).cumsum(dim=1).gather(1, ends).numpy()
    own = torch.cat([torch.zeros_like(score[:, :1]), score.gather(1, ends)], dim=1).numpy()
    claimed = RULE.soundness(level, included, own if indicator == INDICATORS[2] else None)
    reached = first_reaching(level, LEVELS)
    return float((claimed - true / included).mean(axis=0)[reached].mean()), float(ends.shape[1])


def _ends(games: Games, level: Numbers, expansion: str) -> Tensor:
    """The last feature of every step, for each game (N, K)."""
    size, features = games.attribution.shape
    match EXPANSIONS.index(expansion):
        case 2:
            shares = torch.arange(1, PARTS + 1, dtype=torch.float64) / PARTS
            return counts_by_mass(games.attribution, shares) - 1
        case 3:
            ends = torch.from_numpy(RULE.halved(level, COARSE))
        case step:
            ends = torch.arange(step, features, step + 1)
    return ends.expand(size, -1)


if __name__ == "__main__":
    main()
