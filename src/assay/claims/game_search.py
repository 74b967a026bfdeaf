"""Try a statement on every game of a family, and find the smallest counterexample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import torch
from torch import Tensor

from assay.claims.game_families import Family, all_orders, order_types
from assay.kit import games

# performance, information, attribution -> where the statement applies, and where it is right
Statement = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]
Premise = Callable[[Tensor, Tensor], Tensor]  # performance, information -> which games


@dataclass(frozen=True)
class Tally:
    """How often a statement was tried, and how often it was wrong."""

    family: str
    games: int  # that satisfy the premise
    cases: int  # games x attributions x subsets (or pairs of them) to which the statement applies
    wrong: int  # cases
    wrong_games: int


@dataclass(frozen=True)
class Counterexample:
    """A game in which Theorem 4.11 is wrong, with attribution 1 on every feature."""

    information: list[int]
    performance: dict[str, int]  # of every subset
    included: str  # the subset whose soundness is computed
    part: str  # the part of it with the least attribution that performs equally well
    theorem: float  # soundness by the theorem
    defined: float  # soundness by Definition 4.8


def positive_attributions(d: int) -> Tensor:
    """Attributions that are positive on all features: all order types up to four features, values 1 and 2 beyond.

    Positive ones suffice for theorems about subsets of attributed features.
    """
    if d > 4:
        return torch.tensor(list(product((1, 2), repeat=d)))
    return torch.tensor(all_orders(tuple(weights for weights in order_types(d) if min(weights) > 0)))


def equal_attribution(d: int) -> Tensor:
    return torch.ones(1, d, dtype=torch.long)


def tally(statement: Statement, premise: Premise, family: Family, attributions: Callable[[int], Tensor]) -> Tally:
    """Try a statement on every game of a family that satisfies the premise, with every attribution."""
    count = cases = wrong = wrong_games = 0
    for d in family.sizes:
        attribution = attributions(d)
        for information, performance in family.games(d):
            performance = performance[premise(performance, information)]
            applies, right = statement(performance, information, attribution)
            errors = (applies & ~right).flatten(1).sum(dim=1)
            count += len(performance)
            cases += int(applies.sum())
            wrong += int(errors.sum())
            wrong_games += int((errors > 0).sum())
    return Tally(family.name, count, cases, wrong, wrong_games)


def smallest_counterexample(statement: Statement, families: Sequence[Family]) -> Counterexample | None:
    """By fewest features; then least total information, fewest levels of performance, smallest included subset."""
    for family, d in [(each, d) for each in families for d in each.sizes]:
        for information, performance in family.games(d):
            performance = performance[games.satisfies_assumption_4_10(performance, information)]
            applies, right = statement(performance, information, equal_attribution(d))
            wrong = torch.nonzero((applies & ~right)[:, 0]).tolist()
            if wrong:
                game, subset = min(wrong, key=lambda pair: (int(performance[pair[0]].max()), pair[1].bit_count(), pair))
                return make_counterexample(performance[game], information, subset)
    return None


def make_counterexample(performance: Tensor, information: Tensor, subset: int) -> Counterexample:
    attribution = equal_attribution(len(information))
    inner = [part for part in range(subset + 1) if part & ~subset == 0 and performance[part] == performance[subset]]
    return Counterexample(
        information.tolist(),
        {subset_name(index): level for index, level in enumerate(performance.tolist())},
        subset_name(subset),
        subset_name(min(inner, key=lambda part: (part.bit_count(), part))),
        float(games.minimal_share(performance[None], attribution)[0, 0, subset]),
        float(games.soundness(attribution, information)[0, subset]),
    )


def subset_name(subset: int) -> str:
    """As in "{1,3}": features are numbered from 1."""
    return "{" + ",".join(str(bit + 1) for bit in range(subset.bit_length()) if subset >> bit & 1) + "}"
