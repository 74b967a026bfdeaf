"""Claim C12: Theorems 4.11 and 4.12 and Algorithm 1 of Li et al. (2024) on all small games.

``python -m assay.claims.small_games [--json]``. Each decision states the rule that it follows.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace

from torch import Tensor

from assay.claims.expansion_errors import ONE, TWO, Errors, errors
from assay.claims.game_families import ADMITTED, STRICT, Family
from assay.claims.game_search import (
    Counterexample,
    Tally,
    equal_attribution,
    positive_attributions,
    smallest_counterexample,
    tally,
)
from assay.kit import games


@dataclass(frozen=True)
class Decision:
    """The verdict on one part of the claim."""

    part: str
    claim: str
    rule: str
    verdict: str
    tallies: list[Tally] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    counterexamples: list[Counterexample] = field(default_factory=list)
    errors: list[Errors] = field(default_factory=list)


def all_or_nothing(tallies: list[Tally]) -> str:
    return "reproduced" if not any(row.wrong for row in tallies) else "not reproduced"


def by_share(holds: list[bool], deciding: str) -> str:
    """The ledger's rule for a claim that is tried in several settings: 90 % or 10 % of them decide it."""
    share = sum(holds) / len(holds)
    return "reproduced" if share >= 0.9 else "not reproduced" if share <= 0.1 else f"depends ({deciding})"


def ordering(performance: Tensor, information: Tensor, attribution: Tensor) -> tuple[Tensor, Tensor]:
    """Theorem 4.12, which uses the attributed sets and not the values of attributions."""
    return games.theorem_4_12(performance, information)


def silent(performance: Tensor, information: Tensor, attribution: Tensor) -> tuple[Tensor, Tensor]:
    """Of two sets of unequal completeness, Theorem 4.12 says which is more complete; wrong where it says nothing."""
    applies, first_is_more_complete = games.theorem_4_12(performance, information)
    return first_is_more_complete, applies


def sharp_condition(performance: Tensor, information: Tensor, attribution: Tensor) -> tuple[Tensor, Tensor]:
    """Ours: Theorem 4.11 is right exactly where the least predictive included feature raises performance."""
    applies, right = games.theorem_4_11(performance, information, attribution)
    return applies, right == games.last_feature_counts(performance, information)[:, None]


def part_a() -> Decision:
    rows = [tally(games.theorem_4_11, games.strictly_monotone, family, positive_attributions) for family in STRICT]
    return Decision(
        "a",
        "Theorem 4.11 holds where performance is strictly increasing in predictive information",
        "reproduced if no case is wrong",
        all_or_nothing(rows),
        rows,
    )


def part_b() -> Decision:
    rows = [
        tally(games.theorem_4_11, games.satisfies_assumption_4_10, family, equal_attribution) for family in ADMITTED
    ]
    performing = [
        tally(games.theorem_4_11_performing, games.satisfies_assumption_4_10, family, equal_attribution)
        for family in ADMITTED
    ]
    conditions = [
        tally(sharp_condition, games.satisfies_assumption_4_10, family, equal_attribution) for family in ADMITTED
    ]
    counterexamples = [
        smallest_counterexample(theorem, ADMITTED) for theorem in (games.theorem_4_11, games.theorem_4_11_performing)
    ]
    exceptions = sum(row.wrong for row in conditions)
    return Decision(
        "b",
        "Theorem 4.11 holds under Assumption 4.10 as written",
        "reproduced if no case is wrong; attribution is 1 on every feature",
        all_or_nothing(rows),
        [*rows, *performing],
        [
            "tallies 3 and 4: only where the included features perform better than none, as section 4.2 asks",
            "ours: it holds exactly where leaving out the least predictive included feature lowers performance: "
            f"{exceptions} exceptions in {sum(row.cases for row in conditions):,} cases",
        ],
        [example for example in counterexamples if example],
    )


def part_c() -> Decision:
    rows = [row for family in (*STRICT, *ADMITTED) for row in errors(family)]
    mean = {(row.family, row.variant): row.mean for row in rows}
    return Decision(
        "c",
        "Algorithm 1 is closer to Definition 4.8 when it adds features in batches instead of one by one",
        "by the share of the four families in which two features a step have the smaller mean error:\n"
        "         reproduced from 90 %, not reproduced up to 10 %, else depends",
        by_share(
            [mean[family.name, TWO] < mean[family.name, ONE] for family in (*STRICT, *ADMITTED)],
            "whether every predictive feature raises performance, and else the number of features",
        ),
        notes=[*_by_size(ADMITTED[-1])],
        errors=rows,
    )


def _by_size(family: Family) -> Iterator[str]:
    """Mean errors for each number of features: in the pooled mean, most stops are of the largest games."""
    for size in family.sizes:
        mean = {row.variant: row.mean for row in errors(replace(family, sizes=(size,)))}
        yield f"{size} features, {family.name}: mean error {mean[ONE]:.4f} one a step, {mean[TWO]:.4f} two a step"


def part_d() -> Decision:
    rows = [tally(ordering, games.strictly_monotone, family, equal_attribution) for family in STRICT]
    rows += [tally(ordering, games.satisfies_assumption_4_10, family, equal_attribution) for family in ADMITTED]
    silence = [
        tally(silent, games.satisfies_assumption_4_10, family, equal_attribution) for family in (*STRICT, *ADMITTED)
    ]
    return Decision(
        "d",
        "Theorem 4.12: the set without which the model performs strictly worse is the more complete one",
        "reproduced if no case is wrong",
        all_or_nothing(rows),
        rows,
        [f"silent about {row.wrong / row.cases:.1%} of pairs of unequal completeness: {row.family}" for row in silence],
    )


def report_lines(decision: Decision) -> Iterator[str]:
    yield f"C12{decision.part}  {decision.verdict}\n  claim: {decision.claim}\n  rule:  {decision.rule}"
    for row in decision.tallies:
        wrong = f"wrong {row.wrong:>9,} in {row.wrong_games:,} games"
        yield f"  {row.family:46s} games {row.games:>7,}  cases {row.cases:>11,}  {wrong}"
    for family in dict.fromkeys(error.family for error in decision.errors):
        yield from error_table([error for error in decision.errors if error.family == family])
    yield from (f"  {note}" for note in decision.notes)
    for game in decision.counterexamples:
        yield f"  smallest counterexample: information {game.information}, attribution 1 each"
        yield "    performance " + "  ".join(f"{subset} {level}" for subset, level in game.performance.items())
        yield f"    included {game.included}: {game.part} performs as well, so the theorem says {game.theorem:g};"
        yield f"    by Definition 4.8 soundness is {game.defined:g}"


def error_table(rows: list[Errors]) -> Iterator[str]:
    """A table of the errors of all variants in one family."""
    first = rows[0]
    yield f"  {first.family}: {first.stops:,} stops, {first.unsound:.2%} at a soundness below 1 ({first.variant})"
    yield f"    {'':56s}    bias    mean    max    exact  steps"
    for row in rows:
        numbers = f"{row.bias:+.4f}  {row.mean:.4f}  {row.largest:.3f}  {row.exact:7.2%}  {row.steps:5.2f}"
        yield f"    {row.variant:56s} {numbers}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m assay.claims.small_games", description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args(arguments)
    decisions = [part() for part in (part_a, part_b, part_c, part_d)]
    if options.json:
        print(json.dumps({"claim": "C12", "parts": [asdict(decision) for decision in decisions]}, indent=2))
    else:
        print("\n\n".join("\n".join(report_lines(decision)) for decision in decisions))


if __name__ == "__main__":
    main()
