"""A method is refuted, or it is not; it is never called faithful."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.stats.faithfulness import verdict

values = st.dictionaries(st.sampled_from(["A", "B", "C", "D"]), st.none() | st.floats(-1, 2))


@settings(max_examples=50, deadline=None, derandomize=True)
@given(values, st.floats(0, 1))
def test_refuted_means_below_gamma_somewhere(measured, gamma):
    found = verdict("m", measured, gamma)
    below = [name for name, value in measured.items() if value is not None and value < gamma * (1 - 1e-6)]
    assert sorted(found.refuted_by) == sorted(below)
    assert found.refuted == bool(below)
    assert set(found.tested_in) == {name for name, value in measured.items() if value is not None}
    worst = [measured[name] for name in found.refuted_by]
    assert worst == sorted(worst)
    assert "faithful" not in str(found)


@pytest.mark.parametrize(
    ("measured", "said"),
    [
        ({"A": 0.9}, "not refuted"),
        ({"A": 0.5}, "not refuted"),  # at gamma is not below it
        ({"A": 0.4999}, "refuted by A"),
        ({"A": 0.5 - 1e-15}, "not refuted"),  # nor is what rounding took from it
        ({"A": 0.4, "B": 0.1, "C": 0.9}, "refuted by B; A"),
        ({"A": None}, "not tested"),
        ({}, "not tested"),
        ({"A": None, "B": 0.7}, "not refuted"),
    ],
)
def test_the_verdict_in_words(measured, said):
    assert str(verdict("m", measured, 0.5)) == said


def test_what_is_not_known_refutes_nobody_and_tests_nothing():
    found = verdict("m", {"A": None, "B": 0.9}, 0.5)
    assert found.tested_in == ("B",)
    assert not found.refuted
