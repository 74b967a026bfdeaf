"""Errors of Algorithm 1 of Li et al. (2024), against soundness as defined, for several ways of adding features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import combinations_with_replacement

import torch
from torch import Tensor

from assay.claims.expansion import (
    by_area,
    by_halves,
    by_mass,
    claimed_soundness,
    levels_reached,
    one_by_one,
    share_so_far,
)
from assay.claims.game_families import Family, all_orders, ranks
from assay.kit.games import is_predictive, subset_sums

LEAST_RISE = 0.01  # of performance, from the paper; in these games the least rise is 1/16 or more, so every rise counts
START = 0.04  # performance above which the released code calls attribution false; the paper has no such threshold
ATTRIBUTIONS = range(4)  # values of an attribution
MOST_CASES = 128  # at a time, to stay in the processor's cache
BASE = 32  # more than any level of performance, so that levels can be the digits of one number

Expansion = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Variant:
    """One way to run Algorithm 1."""

    name: str
    ends: Expansion  # where steps end
    start: float = -1.0  # no attribution is called false up to this performance


ONE, TWO = "one feature a step", "two features a step (area)"
VARIANTS = (
    Variant(ONE, one_by_one),
    Variant(TWO, partial(by_area, size=2)),
    Variant("a quarter of the attribution a step (mass)", partial(by_mass, steps=4)),
    Variant("four features, halved where they help (adaptive)", partial(by_halves, size=4, least_rise=LEAST_RISE)),
    Variant(ONE + ", nothing false before 0.04", one_by_one, START),
    Variant(TWO + ", nothing false before 0.04", partial(by_area, size=2), START),
)


@dataclass(frozen=True)
class Errors:
    """Claimed minus defined soundness, over all games, attributions and predictive levels of a family."""

    family: str
    variant: str
    stops: int  # games x attributions x levels of performance at which Algorithm 1 may be asked to stop
    bias: float
    mean: float  # of the size of the error
    largest: float
    exact: float  # share of stops without error
    unsound: float  # share of stops whose soundness, as defined, is below 1
    steps: float  # evaluations of the model for the whole attribution, on average


@dataclass(frozen=True)
class Cases:
    """Games with an order of their features: performance while features are added one by one."""

    levels: Tensor  # (C, d + 1), whole numbers from 0
    top: Tensor  # (C,) the highest level of the game
    predictive: Tensor  # (C, d) in the order of the attribution
    count: Tensor  # (C,) number of games that give this case

    def parts(self) -> list[Cases]:
        columns = (self.levels, self.top, self.predictive, self.count)
        return [Cases(*part) for part in zip(*(column.split(MOST_CASES) for column in columns), strict=True)]


def errors(family: Family) -> list[Errors]:
    """The errors of each variant in a family."""
    batches = [(part, attributions(d)) for d in family.sizes for part in cases(family, d).parts()]
    return [summarise(family, variant, [error_sums(variant, *batch) for batch in batches]) for variant in VARIANTS]


def attributions(d: int) -> Tensor:
    """(H, d): every attribution with values 0, ..., 3 in descending order, except the one that is all 0.

    With every order of the features, this is every attribution with these values, with every order of its ties.
    """
    rows = combinations_with_replacement(reversed(ATTRIBUTIONS), d)
    return torch.tensor([row for row in rows if any(row)])


def cases(family: Family, d: int) -> Cases:
    """All games of d features, each in every order of its features; equal cases are counted, not repeated.

    A case is coded as one whole number: its levels and the game's highest level are the first d + 2 digits to the base
    ``BASE``; beyond them, bit i says whether feature i is predictive.
    """
    counts: dict[int, int] = {}  # by code
    digits = BASE ** torch.arange(d + 2)
    prefixes = 2 ** torch.arange(d + 1) - 1  # the subsets of the first 0, 1, ..., d features
    for weights in all_orders(family.informations(d)):
        information = torch.tensor(weights)
        level = ranks(subset_sums(information))
        curves = family.performances(int(level.max()) + 1)[:, [*level[prefixes].tolist(), -1]]  # levels, highest level
        codes, repeats = (curves * digits).sum(dim=1).unique(return_counts=True)
        predictive_bits = int((is_predictive(information) * 2 ** torch.arange(d)).sum()) * BASE ** (d + 2)
        for code, count in zip(codes.tolist(), repeats.tolist(), strict=True):
            counts[code + predictive_bits] = counts.get(code + predictive_bits, 0) + count
    codes = torch.tensor(list(counts))[:, None]
    curves = codes // digits % BASE
    predictive = codes // BASE ** (d + 2) // 2 ** torch.arange(d) % 2 == 1
    return Cases(curves[:, :-1], curves[:, -1], predictive, torch.tensor(list(counts.values())))


def error_sums(variant: Variant, cases: Cases, attribution: Tensor) -> Tensor:
    """Sums over stops of 1, error, size of error, exact, unsound; sums of steps and runs; the largest error."""
    levels = cases.levels[:, None].expand(-1, len(attribution), -1)  # (C, H, d + 1)
    performance = levels.double() / cases.top.clamp(min=1)[:, None, None]
    ends = variant.ends(performance, attribution)
    claimed = claimed_soundness(performance, attribution, ends, LEAST_RISE, variant.start)
    defined = share_so_far(attribution * cases.predictive[:, None], attribution)
    error = claimed - defined
    size = torch.where(error.abs() < 1e-12, 0.0, error.abs())  # rounding of 1 - share; true errors are >= 1/24
    stops = (levels_reached(levels, ends) * cases.count[:, None, None]).double()
    sums = [(stops * rows).sum() for rows in (1, error, size, size == 0, defined < 1)]
    steps = (ends.sum(dim=-1) * cases.count[:, None]).sum()
    return torch.stack([*sums, steps, cases.count.sum() * len(attribution), torch.where(stops > 0, size, 0).max()])


def summarise(family: Family, variant: Variant, rows: list[Tensor]) -> Errors:
    """Errors over all rows of ``error_sums``."""
    table = torch.stack(rows)
    stops, bias, mean, exact, unsound, steps, runs = table[:, :-1].sum(dim=0).tolist()
    shares = (bias / stops, mean / stops, float(table[:, -1].max()), exact / stops, unsound / stops)
    return Errors(family.name, variant.name, int(stops), *shares, steps / runs)
