"""Retraining is shown next to the loop and to its products; how fast it is, is nobody's test."""

from __future__ import annotations

from assay.environments.tabular_rule import TabularRule
from benchmarks.retraining import Retraining


def test_both_ways_to_train_answer_the_same() -> None:
    ours, loop, products = Retraining(TabularRule(train_rows=200, hidden=(16, 8), epochs=1)).rows("retraining", 1)
    assert (ours["who"], products["who"]) == ("assay", "the matrix products alone")
    assert loop["ratio"] == "1.0x"
    assert ours["note"] == "largest difference: 0.0e+00 of the largest"
    assert min(row["rate"] for row in (ours, loop, products)) > 0
