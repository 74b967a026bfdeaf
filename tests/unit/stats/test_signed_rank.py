"""The signed-rank test against enumeration of all signs, and against SciPy."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata, wilcoxon

from assay.stats.signed_rank import signed_rank_test

SMALL = st.lists(st.integers(-6, 6), min_size=1, max_size=9)


def enumerated(differences: list[int]) -> float:
    """The share of all signs whose rank sum is at least as far from its mean as the observed one."""
    left = [difference for difference in differences if difference]
    if not left:
        return 1.0
    ranks = rankdata(np.abs(left))
    signs = np.array(list(product((-1, 1), repeat=len(left))))
    observed = abs(float(np.sign(left) @ ranks))
    return float(np.mean(np.abs(signs @ ranks) >= observed - 1e-9))


@given(SMALL)
def test_ties_and_zeros_have_the_exact_probability(differences: list[int]) -> None:
    values = np.array(differences, float)
    assert signed_rank_test(values, np.zeros(len(values))).p == pytest.approx(enumerated(differences), abs=1e-12)


@pytest.mark.parametrize("count", [2, 7, 20, 50])
def test_without_ties_it_is_the_exact_test_of_scipy(count: int) -> None:
    differences = np.random.default_rng(count).normal(0.3, 1, count)
    expected = wilcoxon(differences, method="exact").pvalue
    assert signed_rank_test(differences, np.zeros(count)).p == pytest.approx(expected, rel=1e-9)


@given(SMALL)
def test_the_one_sided_probability_is_the_share_of_signs_with_as_large_a_sum(differences: list[int]) -> None:
    values = np.array(differences, float)
    left = values[values != 0]
    ranks = rankdata(np.abs(left)) if len(left) else np.zeros(0)
    sums = np.array(list(product((-1, 1), repeat=len(left)))) @ ranks if len(left) else np.zeros(1)
    expected = float(np.mean(sums >= np.sign(left) @ ranks - 1e-9))
    assert signed_rank_test(values, np.zeros(len(values)), "greater").p == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("count", [2, 7, 20, 50, 51, 200])
@pytest.mark.parametrize("shift", [-0.2, 0.3])
def test_one_sided_it_is_the_test_of_scipy(count: int, shift: float) -> None:
    differences = np.random.default_rng(count).normal(shift, 1, count)
    method = {"method": "exact"} if count <= 50 else {"method": "asymptotic", "correction": True}
    expected = wilcoxon(differences, alternative="greater", **method).pvalue
    assert signed_rank_test(differences, np.zeros(count), "greater").p == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("decimals", [1, 9])
def test_many_differences_have_the_normal_approximation_of_scipy(decimals: int) -> None:
    differences = np.random.default_rng(0).normal(0.2, 1, 200).round(decimals)
    expected = wilcoxon(differences[differences != 0], correction=True).pvalue
    assert signed_rank_test(differences, np.zeros(200)).p == pytest.approx(expected, rel=1e-9)


def test_the_approximation_continues_the_exact_test() -> None:
    differences = np.random.default_rng(3).normal(0.3, 1, 51)
    longer, shorter = (signed_rank_test(values, np.zeros(len(values))).p for values in (differences, differences[:50]))
    assert longer == pytest.approx(wilcoxon(differences, method="exact").pvalue, rel=0.1)
    assert shorter == pytest.approx(wilcoxon(differences[:50], method="exact").pvalue, rel=1e-9)


def test_identical_values_do_not_differ() -> None:
    result = signed_rank_test(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0 + 1e-9, 3.0]))
    assert (result.p, result.effect, result.count) == (1.0, 0.0, 0)


def test_differences_that_are_equal_up_to_rounding_tie() -> None:
    left, right = np.array([0.3, 0.2, 0.9]), np.array([0.2, 0.3, 0.6])  # 0.3 - 0.2 is not 0.1 in binary
    assert signed_rank_test(left, right).effect == pytest.approx((1.5 - 1.5 + 3) / 6)


@given(SMALL, st.floats(0.01, 100), st.floats(-10, 10))
def test_units_of_measurement_change_nothing(differences: list[int], scale: float, shift: float) -> None:
    left = np.array(differences, float)
    right = np.arange(len(left), dtype=float)
    plain, moved = signed_rank_test(left, right), signed_rank_test(scale * left + shift, scale * right + shift)
    assert moved.p == plain.p
    assert moved.effect == pytest.approx(plain.effect)


@given(SMALL)
def test_left_and_right_are_alike(differences: list[int]) -> None:
    left, right = np.array(differences, float), np.zeros(len(differences))
    one, other = signed_rank_test(left, right), signed_rank_test(right, left)
    assert one.p == other.p
    assert one.effect == pytest.approx(-other.effect)


def test_the_effect_is_1_if_left_is_always_larger() -> None:
    right = np.arange(6.0)
    assert signed_rank_test(right + 1 + right, right).effect == 1
    assert signed_rank_test(right, right + 1 + right).effect == -1
