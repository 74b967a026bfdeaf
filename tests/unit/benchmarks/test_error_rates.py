"""The rule errs as rarely as it says, and the page prints what the command prints."""

from __future__ import annotations

from pathlib import Path

from benchmarks.error_rates import GAIN, NOISES, measure, what_methods_need, what_units_can_show
from benchmarks.tables import markdown

PAGE = (Path(__file__).parents[3] / "docs" / "statistics.md").read_text(encoding="utf-8")


def test_equal_methods_are_rarely_separated() -> None:
    rates = measure(6, 12, 0.0, NOISES["skewed"], 100)
    assert rates.family_wise <= 0.12  # 0.05, four standard errors more; without the correction it would be 0.4
    assert rates.nemenyi_family_wise <= 0.12
    assert 0.8 < rates.covered < 1


def test_a_better_method_is_found_with_enough_units_and_never_with_too_few() -> None:
    few, enough = (measure(4, units, GAIN, NOISES["normal"], 40) for units in (7, 20))
    assert (few.power, few.family_wise) == (0, 0)
    assert enough.power > 0.8
    assert enough.nemenyi_power > 0.6


def test_the_page_has_the_tables_of_the_command() -> None:
    for table in (what_units_can_show(), what_methods_need()):
        assert "\n".join(markdown(table)) in PAGE
    assert all(f"| {name} | {methods} | " in PAGE for name in NOISES for methods in (3, 10))
