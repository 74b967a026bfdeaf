"""The benchmark of serving tells percentiles, the cost beyond the prediction, and both sides with and without a fit."""

from __future__ import annotations

import pytest

from benchmarks.serving import COMPARED, COUNTS, Latency, Projection, _percentiles

SHOWN = {"task", "problem", "repeats", "who", "figure", "ratio", "note"}


def test_percentiles_are_those_of_the_calls():
    told = _percentiles([number / 1000 for number in range(1, 102)])  # 1 to 101 ms
    assert (told["p50"], told["p99"]) == pytest.approx((0.051, 0.1))
    assert told["figure"] == "p50 51.000 ms, p99 100.000 ms"


def test_an_explanation_costs_what_its_call_takes_beyond_the_prediction():
    alone, both = Latency(4, calls=5).rows("serving", 1)
    assert all(set(row) >= SHOWN for row in (alone, both))
    assert all(0 < row["p50"] <= row["p99"] for row in (alone, both))
    assert both["beyond"] == pytest.approx((both["p50"] - alone["p50"]) / 4)
    assert "bar" not in both["ratio"]
    assert "bar: below 1 ms" in Latency(COMPARED, calls=2).rows("serving", 1)[1]["ratio"]


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # of matplotlib, when shap is imported
def test_the_projection_has_both_sides_with_and_without_their_fit():
    rows = Projection(2).rows("serving", 1)
    assert all(set(row) >= SHOWN for row in rows)
    assert len(rows) == 4 * len(COUNTS)
    few, many = rows[:4], rows[4:]
    for ours, with_fit, theirs, theirs_with_fit in (few, many):
        assert with_fit["seconds"] > ours["seconds"]
        assert theirs_with_fit["seconds"] > theirs["seconds"]
        assert ours["ratio"] == f"{theirs['seconds'] / ours['seconds']:,.1f}x"
        assert with_fit["ratio"] == f"{theirs_with_fit['seconds'] / with_fit['seconds']:,.1f}x"
    assert many[0]["seconds"] == pytest.approx(few[0]["seconds"] * COUNTS[1] / COUNTS[0])
