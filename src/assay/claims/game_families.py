"""Finite families of games that stand for all small games under Assumption 4.10 of Li et al. (2024).

Under the assumption, performance is a non-decreasing function of information. The theorems use only comparisons of sums
and of performances. So for them a game is given by

- the *order type* of its information: which subsets have less of it than which others. Every real-valued information
  of at most four features has the order type of one listed here, see ``LARGEST``;
- a *merging*: which neighbouring levels of information perform equally well. A strict game merges none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations_with_replacement, permutations

import torch
from torch import Tensor

from assay.kit.games import subset_sums

# Whole numbers up to this one have every order type of d features. An order type is a face of the cones cut out of the
# positive orthant by the planes where two subsets have the same sum; their coefficients are -1, 0 and 1. An edge of a
# cone is the crossing of d - 1 planes, so its entries are minors: at most 1, 1, 2, 4 for d = 1, 2, 3, 4. Each face
# holds the sum of at most d such edges.
LARGEST = {1: 1, 2: 2, 3: 6, 4: 16}

MOST_GAMES = 4096  # at a time, to stay in the processor's cache

Weights = tuple[int, ...]


@dataclass(frozen=True)
class Family:
    """Games of several sizes, up to a permutation of the features."""

    name: str
    sizes: tuple[int, ...]  # numbers of features
    informations: Callable[[int], tuple[Weights, ...]]  # for a number of features, each ascending
    merged: bool  # with all mergings of levels; False: strict games only

    def games(self, d: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Information (d,) and the performances (G, 2**d) of its games, whole numbers from 0, in batches of games."""
        for weights in self.informations(d):
            information = torch.tensor(weights)
            level = ranks(subset_sums(information))
            for part in self.performances(int(level.max()) + 1).split(MOST_GAMES):
                yield information, part[:, level]

    def performances(self, levels: int) -> Tensor:
        """(G, levels): performance at every level of information, one row per game."""
        return mergings(levels) if self.merged else torch.arange(levels)[None]


@cache
def order_types(d: int) -> tuple[Weights, ...]:
    """One ascending information for every order type of d <= 4 features, least total first."""
    candidates = combinations_with_replacement(range(LARGEST[d] + 1), d)
    by_order: dict[Weights, Weights] = {}
    for weights in sorted(candidates, key=lambda weights: (sum(weights), weights)):
        by_order.setdefault(tuple(ranks(subset_sums(torch.tensor(weights))).tolist()), weights)
    return tuple(by_order.values())


def informations_up_to(largest: int) -> Callable[[int], tuple[Weights, ...]]:
    """All ascending informations of whole numbers 0, ..., ``largest``, least total first."""

    def informations(d: int) -> tuple[Weights, ...]:
        return tuple(
            sorted(combinations_with_replacement(range(largest + 1), d), key=lambda weights: (sum(weights), weights))
        )

    return informations


def all_orders(informations: tuple[Weights, ...]) -> tuple[Weights, ...]:
    """Every information in every order of its features, each once."""
    return tuple(sorted({order for weights in informations for order in permutations(weights)}))


def ranks(sums: Tensor) -> Tensor:
    """Ranks of the sums, equal for equal sums: 0 for the least, 1 for the next larger one, ..."""
    return torch.searchsorted(sums.unique(), sums)


@cache
def mergings(levels: int) -> Tensor:
    """(2**(levels - 1), levels): every performance from 0 that rises by 0 or 1 from level to level.

    Those with the fewest levels of performance come first.
    """
    rises = torch.arange(2 ** (levels - 1))[:, None] >> torch.arange(levels - 1) & 1
    rows = torch.nn.functional.pad(rises.cumsum(dim=1), (1, 0))
    return rows[rows[:, -1].argsort(stable=True)]


SMALL, LARGE = (1, 2, 3, 4), (5, 6, 7, 8)
STRICT = (
    Family("strict, 1-4 features, every information", SMALL, order_types, merged=False),
    Family("strict, 5-8 features, information 0, 1, 2", LARGE, informations_up_to(2), merged=False),
)
ADMITTED = (
    Family("all of 4.10, 1-4 features, every information", SMALL, order_types, merged=True),
    Family("all of 4.10, 5-8 features, information 0, 1", LARGE, informations_up_to(1), merged=True),
)
