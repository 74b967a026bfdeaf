"""Ranks: 1 is best, ties share, and nothing is averaged over what is missing."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.stats.ranks import mean_ranks, rank_label, ranks

quick = settings(max_examples=60)
tables = st.dictionaries(st.sampled_from("abcdef"), st.none() | st.integers(-3, 3).map(float), max_size=6)


@quick
@given(tables, st.booleans())
def test_a_rank_is_one_plus_the_better_plus_half_of_the_equal(values, higher):
    ranked = ranks(values, higher)
    assert list(ranked) == list(values)
    for name, value in values.items():
        if value is None:
            assert ranked[name] is None
            continue
        others = [other for key, other in values.items() if key != name and other is not None]
        better = sum(other > value if higher else other < value for other in others)
        equal = sum(other == value for other in others)
        assert ranked[name] == 1 + better + equal / 2


@quick
@given(tables, st.booleans())
def test_a_rank_label_is_one_plus_the_better_and_says_whether_it_is_shared(values, higher):
    ranked = {name: rank for name, rank in ranks(values, higher).items() if rank is not None}
    for name, rank in ranked.items():
        better = sum(values[other] > values[name] if higher else values[other] < values[name] for other in ranked)
        shared = sum(values[other] == values[name] for other in ranked) > 1
        assert rank_label(rank, tuple(ranked.values())) == f"{1 + better}{' =' if shared else ''}"


def test_known_rank_labels():
    assert [rank_label(rank, (1.5, 1.5, 3.0)) for rank in (1.5, 3.0)] == ["1 =", "3"]
    assert rank_label(2.0, (2.0, 2.0, 2.0)) == "1 ="


def test_known_ranks():
    values = {"a": 0.9, "b": 0.5, "c": 0.9, "d": None, "e": 0.1}
    assert ranks(values, True) == {"a": 1.5, "b": 3.0, "c": 1.5, "d": None, "e": 4.0}
    assert ranks(values, False) == {"a": 3.5, "b": 2.0, "c": 3.5, "d": None, "e": 1.0}


def test_what_differs_only_by_rounding_ties():
    assert ranks({"a": 0.1 + 0.2, "b": 0.3}, True) == {"a": 1.5, "b": 1.5}
    assert ranks({"a": 0.30001, "b": 0.3}, True) == {"a": 1.0, "b": 2.0}
    assert ranks({"a": 0.0078125, "b": 0.0078125 + 1e-12, "c": 1.0}, False) == {"a": 1.5, "b": 1.5, "c": 3.0}


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e9])
def test_units_do_not_change_ranks(unit):
    values = {"a": 1.6 * unit, "b": 1.3 * unit, "c": 9.2 * unit, "d": -13 * unit, "e": 1.3 * unit * (1 + 1e-9)}
    assert ranks(values, False) == {"d": 1, "b": 2.5, "e": 2.5, "a": 4, "c": 5}


def test_what_has_no_bound_is_last_and_says_nothing_about_rounding():
    inf = float("inf")
    assert ranks({"a": inf, "b": 1.0, "c": 1.1, "d": inf, "e": -inf}, False) == {
        "e": 1,
        "b": 2,
        "c": 3,
        "a": 4.5,
        "d": 4.5,
    }
    assert ranks({"a": inf, "b": inf}, True) == {"a": 1.5, "b": 1.5}
    assert ranks({"a": 0.0, "b": 0.0, "c": 1e-300}, True) == {"c": 1, "a": 2.5, "b": 2.5}


@pytest.mark.parametrize("values", [{}, {"a": None}, {"a": None, "b": None}])
def test_nothing_known_is_nothing_ranked(values):
    assert ranks(values, True) == dict.fromkeys(values)


def test_a_mean_rank_is_over_all_columns_or_none():
    columns = {
        "x": {"a": 1.0, "b": 2.0, "c": None},
        "y": {"a": 2.0, "b": 1.0, "c": 3.0},
        "z": {"a": 3.0, "b": 1.0},
    }
    assert mean_ranks(columns) == {"a": 2.0, "b": pytest.approx(4 / 3), "c": None}


def test_a_method_that_a_column_does_not_know_has_no_mean_rank():
    assert mean_ranks({"x": {"a": 1.0}, "y": {"b": 1.0}}) == {"a": None, "b": None}
    assert mean_ranks({}) == {}
    assert mean_ranks({"x": {}}) == {}


@quick
@given(tables)
def test_ranks_add_up(values):
    defined = [rank for rank in ranks(values, True).values() if rank is not None]
    assert sum(defined) == len(defined) * (len(defined) + 1) / 2
