"""Retraining is shown next to the loop and to its products; how fast it is, is nobody's test."""

from __future__ import annotations

from unittest.mock import patch

import torch

from assay.bench import retraining
from assay.bench.retraining import Retraining
from assay.environments.tabular_rule import TabularRule


def test_both_ways_to_train_answer_the_same() -> None:
    ours, loop, products = Retraining(TabularRule(train_rows=200, hidden=(16, 8), epochs=1)).rows("retraining", 1)
    assert (ours["who"], products["who"]) == ("assay", "the matrix products alone")
    assert loop["ratio"] == "1.0x"
    assert ours["note"] == "largest difference: 0.0e+00 of the largest"
    assert min(row["rate"] for row in (ours, loop, products)) > 0


def test_the_products_are_all_of_a_training() -> None:
    work = retraining._products((20, 8, 3), rows=10, batch=4, epochs=2)
    seen = []

    def counted(left: torch.Tensor, right: torch.Tensor, out: torch.Tensor) -> None:
        assert out.shape == (left.shape[0], right.shape[1])
        seen.append(2 * left.shape[0] * left.shape[1] * right.shape[1])

    with patch.object(torch, "mm", counted):
        work()
    forward, back = 2 * 10 * (20 * 8 + 8 * 3), 2 * 10 * (20 * 8 + 2 * 8 * 3)  # no slope at the first layer's inputs
    assert sum(seen) == 2 * (forward + back)
    assert len(seen) == 2 * 3 * 5
