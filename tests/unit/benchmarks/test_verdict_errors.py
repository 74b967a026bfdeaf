"""Verdicts err as rarely as the page says, and the page prints what the command prints."""

from __future__ import annotations

from pathlib import Path

from benchmarks.tables import markdown
from benchmarks.verdict_errors import (
    GOOD,
    NOISES,
    NULLS,
    ROWS,
    Draw,
    chance_table,
    example,
    fewest_table,
    share,
)

PAGE = (Path(__file__).parents[3] / "docs" / "verdicts.md").read_text(encoding="utf-8")


def test_nulls_are_rarely_above_chance_and_good_methods_pass_with_enough_rows() -> None:
    found = [Draw(40, NOISES["heavy tails"], lead=2.0).verdicts(replication) for replication in range(20)]
    false = sum(verdicts[name].outcome in ("passes", "behind", "depends") for verdicts in found for name in NULLS)
    assert false <= 4  # 0.05 of 20 draws, three standard errors more; of four nulls together
    assert sum(verdicts[name].outcome == "passes" for verdicts in found for name in GOOD) >= 50


def test_with_too_few_rows_nothing_is_found() -> None:
    assert {verdict.outcome for verdict in Draw(8, lead=4.0).verdicts(0).methods} == {"undecided"}


def test_an_effect_that_all_rows_share_passes_for_information_unless_a_control_has_it() -> None:
    plain, controlled = (Draw(100, nulls_only=True, effect=1.0, control=control) for control in (False, True))
    passed = [
        sum(verdict.outcome == "passes" for seed in range(10) for verdict in draw.verdicts(seed).methods)
        for draw in (plain, controlled)
    ]
    assert passed[0] > 10
    assert passed[1] <= 1


def test_shares_have_intervals() -> None:
    assert share([True] * 5 + [False] * 5) == "0.500 [0.187, 0.813]"
    assert share([False] * 10) == "0.000 [0.000, 0.308]"


def test_the_page_has_the_tables_of_the_command() -> None:
    for table, texts in ((example(), 3), (chance_table(), 0), (fewest_table(), 0)):
        assert "\n".join(markdown(table, texts)) in PAGE
    assert all(f"| {name} | {rows} | " in PAGE for name in NOISES for rows in ROWS)
