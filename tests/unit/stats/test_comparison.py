"""Pairs of methods, Holm's correction, Friedman's test and groups."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from assay.stats.comparison import Comparison, compare
from assay.stats.friedman import critical_difference, friedman
from assay.stats.groups import groups
from assay.stats.holm import SIGNIFICANCE, holm, largest_family, smallest_p, units_needed

PROBABILITIES = st.lists(st.floats(0, 1), min_size=1, max_size=12)
TABLES = st.integers(2, 5).flatmap(
    lambda units: st.lists(
        st.lists(st.one_of(st.none(), st.integers(-5, 5).map(float)), min_size=units, max_size=units),
        min_size=0,
        max_size=5,
    )
)


def table(rows: list[list[float | None]]) -> dict[str, list[float | None]]:
    return {f"m{index}": row for index, row in enumerate(rows)}


def apart(count: int, units: int) -> dict[str, list[float]]:
    """Methods whose values never overlap, the first best, and whose differences have no ties."""
    return {f"m{index}": [-10.0 * index - unit * 0.1 * index for unit in range(units)] for index in range(count)}


@given(PROBABILITIES)
def test_holm_rejects_what_the_literal_procedure_rejects(p_values: list[float]) -> None:
    rejected: set[int] = set()
    for step, index in enumerate(sorted(range(len(p_values)), key=lambda index: p_values[index])):
        if p_values[index] * (len(p_values) - step) > SIGNIFICANCE:
            break
        rejected.add(index)
    assert {index for index, p_value in enumerate(holm(p_values)) if p_value <= SIGNIFICANCE} == rejected


@given(PROBABILITIES)
def test_a_correction_makes_nothing_more_significant(p_values: list[float]) -> None:
    corrected = holm(p_values)
    assert all(p_value <= after <= 1 for p_value, after in zip(p_values, corrected, strict=True))
    assert [
        corrected[i] <= corrected[j] for i in range(len(p_values)) for j in range(i) if p_values[i] < p_values[j]
    ].count(False) == 0


@pytest.mark.parametrize(("methods", "units"), [(2, 6), (3, 7), (5, 9), (10, 11)])
def test_the_fewest_units_suffice_and_one_less_never_does(methods: int, units: int) -> None:
    family = math.comb(methods, 2)
    assert units_needed(family) == units
    assert units_needed(family, sides=1) == units - 1
    assert smallest_p(units) * family <= SIGNIFICANCE < smallest_p(units - 1) * family
    enough, few = compare(apart(methods, units), True), compare(apart(methods, units - 1), True)
    assert enough is not None
    assert few is not None
    assert enough.can_separate
    assert not few.can_separate
    assert all(pair.separated for pair in enough.pairs)
    assert not any(pair.separated for pair in few.pairs)
    assert enough.groups == ()
    assert few.groups == (few.methods,)


def test_what_a_number_of_units_can_show() -> None:
    assert [largest_family(units) for units in (4, 5, 6, 10, 20)] == [0, 0, 1, 25, 26214]


@pytest.mark.parametrize("higher_is_better", [True, False])
def test_the_better_method_is_left_whatever_better_means(higher_is_better: bool) -> None:
    comparison = compare(apart(3, 8), higher_is_better)
    assert comparison is not None
    assert comparison.methods == (("m0", "m1", "m2") if higher_is_better else ("m2", "m1", "m0"))
    for pair in comparison.pairs:
        assert pair.effect == 1
        assert pair.difference is not None
        assert (pair.difference > 0) == higher_is_better
        assert pair.low is not None
        assert pair.high is not None
        assert pair.low < pair.difference < pair.high
    assert [rank.mean for rank in comparison.mean_ranks] == [1, 2, 3]


def test_a_pair_rests_on_the_units_that_both_have() -> None:
    values = {"a": [1.0, 2.0, None, 4.0], "b": [2.0, 4.0, 9.0, None], "c": [None, None, 1.0, None], "none": [None] * 4}
    comparison = compare(values, True)
    assert comparison is not None
    units = {frozenset((pair.left, pair.right)): pair for pair in comparison.pairs}
    assert set(comparison.methods) == {"a", "b", "c"}
    assert units[frozenset("ab")].units == 2
    assert units[frozenset("bc")].units == 1
    empty = units[frozenset("ac")]
    assert (empty.units, empty.difference, empty.low, empty.p, empty.effect) == (0, None, None, 1.0, 0.0)
    assert (comparison.complete, comparison.mean_ranks, comparison.friedman) == (0, (), None)


def test_identical_methods_are_one_group() -> None:
    comparison = compare({name: [0.5] * 20 for name in "abc"}, True)
    assert comparison is not None
    assert [pair.p for pair in comparison.pairs] == [1.0] * 3
    assert comparison.groups == (("a", "b", "c"),)
    assert comparison.friedman is not None
    assert comparison.friedman.p == 1
    assert {(rank.low, rank.mean, rank.high) for rank in comparison.mean_ranks} == {(2.0, 2.0, 2.0)}


@pytest.mark.parametrize(
    "values", [{}, {"a": [1.0, 2.0]}, {"a": [1.0], "b": [2.0]}, {"a": [1.0, 2.0], "b": [None] * 2}]
)
def test_fewer_than_two_methods_or_units_are_not_compared(values: dict[str, list[float | None]]) -> None:
    assert compare(values, True) is None


def numbers(comparison: Comparison) -> list[float]:
    optional = [number for pair in comparison.pairs for number in (pair.difference, pair.low, pair.high)]
    plain = [number for pair in comparison.pairs for number in (pair.effect, pair.p, pair.p_holm)]
    ranks = [number for rank in comparison.mean_ranks for number in (rank.mean, rank.low, rank.high)]
    test = comparison.friedman
    return [number for number in optional if number is not None] + plain + ranks + ([test.p] if test else [])


@pytest.mark.parametrize("units", [51, 1200])
def test_many_samples_are_compared(units: int) -> None:
    random = np.random.default_rng(0)
    values = {name: (random.random(units) < share).astype(float).tolist() for name, share in (("a", 0.2), ("b", 0.8))}
    comparison = compare(values, True, "samples")
    assert comparison is not None
    assert comparison.can_separate
    assert comparison.pairs[0].separated


@given(TABLES, st.booleans())
def test_every_table_has_numbers_and_no_warning(rows: list[list[float | None]], higher_is_better: bool) -> None:
    comparison = compare(table(rows), higher_is_better)
    assert comparison is None or np.isfinite(numbers(comparison)).all()


@given(TABLES, st.randoms(use_true_random=False))
def test_the_order_of_methods_changes_no_probability(rows: list[list[float | None]], random: object) -> None:
    values = table(rows)
    names = list(values)
    random.shuffle(names)  # type: ignore[attr-defined]
    one, other = compare(values, True), compare({name: values[name] for name in names}, True)
    if one is None or other is None:
        assert one is other
        return
    found, again = (
        {frozenset((pair.left, pair.right)): (pair.p, pair.p_holm, abs(pair.effect)) for pair in comparison.pairs}
        for comparison in (one, other)
    )
    assert found.keys() == again.keys()
    assert all(again[pair] == pytest.approx(found[pair]) for pair in found)
    assert {frozenset(group) for group in one.groups} == {frozenset(group) for group in other.groups}
    assert {rank.method: rank for rank in one.mean_ranks} == {rank.method: rank for rank in other.mean_ranks}


@given(TABLES)
def test_ranks_see_only_the_order_of_values(rows: list[list[float | None]]) -> None:
    values = table(rows)
    bent = {name: [None if value is None else math.exp(value) for value in row] for name, row in values.items()}
    one, other = compare(values, True), compare(bent, True)
    assert (one is None) == (other is None)
    if one is not None and other is not None:
        assert one.friedman == other.friedman
        assert set(one.mean_ranks) == set(other.mean_ranks)


@pytest.mark.parametrize("ties", [False, True])
def test_friedman_by_the_formula(ties: bool) -> None:
    random = np.random.default_rng(1)
    ranks = np.array([random.permutation(4) + 1.0 for _ in range(7)])
    if ties:
        ranks[0] = [1.5, 1.5, 3.0, 4.0]
    units, methods = ranks.shape
    tied_share = sum(2**3 - 2 for row in ranks if len(set(row)) < methods) / (units * methods * (methods**2 - 1))
    spread = sum((sum(column) / units - (methods + 1) / 2) ** 2 for column in ranks.T)
    statistic = 12 * units / (methods * (methods + 1)) * spread / (1 - tied_share)
    found = friedman(ranks)
    assert found is not None
    assert found.statistic == pytest.approx(statistic)
    assert found.p == pytest.approx(chi2.sf(statistic, methods - 1))
    assert found.agreement == pytest.approx(statistic / (units * (methods - 1)))


def test_friedman_has_nothing_to_say_about_two_methods_or_one_unit() -> None:
    assert friedman(np.array([[1.0, 2.0]] * 5)) is None
    assert friedman(np.array([[1.0, 2.0, 3.0]])) is None


def test_the_critical_difference_of_the_literature() -> None:
    # Demšar (2006), table 5: q = 2.569 for 4 methods; section 3.2.2: 14 data sets
    assert critical_difference(4, 14) == pytest.approx(2.569 * math.sqrt(4 * 5 / (6 * 14)), abs=1e-3)


@given(st.integers(1, 6), st.data())
def test_two_methods_share_a_group_if_and_only_if_they_are_not_separated(count: int, data: st.DataObject) -> None:
    methods = [f"m{index}" for index in range(count)]
    pairs = [frozenset(pair) for pair in combinations(methods, 2)]
    separated = {pair for pair in pairs if data.draw(st.booleans())}
    found = groups(methods, separated)
    shared = {frozenset(pair) for group in found for pair in combinations(group, 2)}
    assert shared == set(pairs) - separated
    assert not any(set(one) < set(other) for one in found for other in found)
    assert len(set(found)) == len(found)
