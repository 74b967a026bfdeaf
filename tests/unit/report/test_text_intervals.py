"""The interval of a score as text."""

from __future__ import annotations

import pytest

from assay.core.evidence import Score, read_score
from assay.core.records import Record
from assay.report.text import interval_notes, interval_text

SEEDS = Score(0.45, low=0.4, high=0.5, per_seed=(0.4, 0.5, 0.45), basis="seeds")
SAMPLES = Score(-0.45, low=-0.5, high=12.0, per_seed=(-0.45,), basis="samples")
DRAW = Score(0.45, low=0.4, high=0.5, per_seed=(0.45,), basis="draw")
TWO = Score(0.45, per_seed=(0.44, None, 0.46), basis="two")
EQUAL = Score(1.0, per_seed=(1.0, 1.0, 1.0), basis="equal")
BOTH = Score(1.0, per_seed=(1.0, 1.0), basis="equal")
ALIKE = Score(1.0, per_seed=(1.0,), basis="equal")
SKIPPED = Score(None, status="skipped", reason="needs a garden")


@pytest.mark.parametrize(
    "cell, long, short",
    [
        (SEEDS, "[0.400, 0.500]", ".400–.500"),
        (SAMPLES, "[-0.500, 12.000]", "-.500–12.000"),
        (DRAW, "[0.400, 0.500]", ".400–.500"),
        (TWO, "(0.440 | 0.460)", "(.440 | .460)"),
        (EQUAL, "", ""),
        (SKIPPED, "", ""),
    ],
)
def test_an_interval_or_two_values_or_nothing(cell: Score, long: str, short: str) -> None:
    assert (interval_text(cell), interval_text(cell, short=True)) == (long, short)


@pytest.mark.parametrize(
    "cells, notes",
    [
        ([("F1", SEEDS), ("recall", SEEDS)], ["95 % intervals over 3 seeds"]),
        ([("F1", SAMPLES)], ["95 % intervals over samples"]),
        ([("F1", DRAW)], ["95 % intervals over the samples of one draw: other draws of the model may differ"]),
        ([("F1", TWO)], ["two seeds draw two models: both values, no interval"]),
        ([("F1", EQUAL), ("F1", SEEDS)], ["95 % intervals over 3 seeds", "no interval: equal in all 3 seeds"]),
        ([("F1", ALIKE)], ["no interval: equal on all samples"]),
        ([("F1", BOTH)], ["no interval: equal in both seeds"]),
        ([("F1", SKIPPED)], []),
        (
            [("soundness", SEEDS), ("F1", SAMPLES), ("recall", SAMPLES), ("F1", SAMPLES)],
            ["95 % intervals of soundness over 3 seeds", "95 % intervals of F1 and recall over samples"],
        ),
    ],
)
def test_each_kind_of_interval_is_described_once(cells: list[tuple[str, Score]], notes: list[str]) -> None:
    assert list(interval_notes(cells)) == notes


def test_intervals_of_the_rule_before_are_not_shown() -> None:
    """They were too narrow, and did not record what they were over."""
    data = {"value": 0.5, "low": 0.49, "high": 0.51, "per_seed": [0.49, 0.51], "count": 4, "defined": 4}
    old, new = (read_score(Record("score", "k", "ok", data=fields)) for fields in (data, {**data, "basis": "seeds"}))
    assert (old.value, old.low, old.high, old.basis) == (0.5, None, None, "")
    assert (new.low, new.high, new.per_seed) == (0.49, 0.51, (0.49, 0.51))
