"""Try a statement on every game of a family, and find the smallest game in which it is wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import torch
from torch import Tensor

from assay.claims.game_families import Family, arranged, order_types
from assay.kit import games

Statement = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]  # performance, information, attribution
Premise = Callable[[Tensor, Tensor], Tensor]  # performance, information -> which games


@dataclass(frozen=True)
class Tally:
    """How often a statement was tried, and how often it was wrong."""

    family: str
    games: int  # that fulfil the premise
    cases: int  # games x attributions x subsets (or pairs of them) about which the statement speaks
    wrong: int  # cases
    wrong_games: int


@dataclass(frozen=True)
class Counterexample:
    """A game in which Theorem 4.11 is wrong, with attribution 1 on every feature."""

    information: list[int]
    performance: dict[str, int]  # of every subset
    included: str  # the subset whose soundness is asked for
    part: str  # the part of it with the least attribution that performs as well
    theorem: float  # soundness by the theorem
    defined: float  # soundness by Definition 4.8


def positive_attributions(d: int) -> Tensor:
    """Attributions on all features: of every order type up to four features, of values 1 and 2 beyond.

    A theorem that speaks about subsets of attributed features loses nothing where all features are attributed.
    """
    if d > 4:
        return torch.tensor(list(product((1, 2), repeat=d)))
    return torch.tensor(arranged(tuple(weights for weights in order_types(d) if min(weights) > 0)))


def equal_attribution(d: int) -> Tensor:
    return torch.ones(1, d, dtype=torch.long)


def tally(statement: Statement, premise: Premise, family: Family, attributions: Callable[[int], Tensor]) -> Tally:
    """Try a statement on every game of a family that fulfils the premise, with every attribution."""
    count = cases = wrong = wrong_games = 0
    for d in family.sizes:
        attribution = attributions(d)
        for information, performance in family.games(d):
            performance = performance[premise(performance, information)]
            speaks, right = statement(performance, information, attribution)
            against = (speaks & ~right).flatten(1).sum(dim=1)
            count += len(performance)
            cases += int(speaks.sum())
            wrong += int(against.sum())
            wrong_games += int((against > 0).sum())
    return Tally(family.name, count, cases, wrong, wrong_games)


def smallest(statement: Statement, families: Sequence[Family]) -> Counterexample | None:
    """Fewest features; then least total information, fewest levels of performance, smallest included subset."""
    for family, d in [(each, d) for each in families for d in each.sizes]:
        for information, performance in family.games(d):
            performance = performance[games.admitted(performance, information)]
            speaks, right = statement(performance, information, equal_attribution(d))
            found = torch.nonzero((speaks & ~right)[:, 0]).tolist()
            if found:
                game, subset = min(found, key=lambda pair: (int(performance[pair[0]].max()), pair[1].bit_count(), pair))
                return example(performance[game], information, subset)
    return None


def example(performance: Tensor, information: Tensor, subset: int) -> Counterexample:
    attribution = equal_attribution(len(information))
    inner = [part for part in range(subset + 1) if part & ~subset == 0 and performance[part] == performance[subset]]
    return Counterexample(
        information.tolist(),
        {named(index): level for index, level in enumerate(performance.tolist())},
        named(subset),
        named(min(inner, key=lambda part: (part.bit_count(), part))),
        float(games.minimal_share(performance[None], attribution)[0, 0, subset]),
        float(games.soundness(attribution, information)[0, subset]),
    )


def named(subset: int) -> str:
    return "{" + ",".join(str(place + 1) for place in range(subset.bit_length()) if subset >> place & 1) + "}"
