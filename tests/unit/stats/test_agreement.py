"""Agreement of two metrics: SciPy's correlation in each seed, their mean with Student's t, and what is left out."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from assay.core.evidence import Score
from assay.stats.agreement import Agreement, agreement, spearman


def scores(table: dict[str, list[float | None]]) -> dict[str, Score]:
    return {
        name: Score(float(np.mean([value for value in row if value is not None])), per_seed=tuple(row))
        for name, row in table.items()
    }


def random_scores(seed: int, methods: int = 6, seeds: int = 5) -> dict[str, Score]:
    values = np.random.default_rng(seed).uniform(size=(methods, seeds))
    return scores({f"m{index}": row.tolist() for index, row in enumerate(values)})


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(-4, 4)), min_size=3, max_size=12))
def test_it_is_spearmans_correlation_with_average_ranks_for_ties(pairs: list[tuple[int, int]]) -> None:
    left, right = ([float(value) for value in side] for side in zip(*pairs, strict=True))
    if len(set(left)) == 1 or len(set(right)) == 1:
        assert spearman(left, right) is None
    else:
        assert spearman(left, right) == pytest.approx(stats.spearmanr(left, right).statistic, abs=1e-12)


def test_scores_that_differ_by_rounding_tie() -> None:
    truth = [1.0, 1.0 - 4e-7, 1.0 - 2e-7, 0.5, 0.2]
    metric = [0.3, 0.1, 0.2, 0.05, 0.01]
    rounded = stats.spearmanr(np.round(metric, 6), np.round(truth, 6)).statistic
    assert spearman(metric, truth) == pytest.approx(rounded, abs=1e-12)
    assert spearman(metric, truth) != pytest.approx(stats.spearmanr(metric, truth).statistic, abs=1e-3)


def test_the_value_is_the_mean_over_seeds_with_students_t() -> None:
    metric, truth = random_scores(1), random_scores(2)
    found = agreement(metric, truth, same_direction=True)
    expected = [
        stats.spearmanr(
            [row.per_seed[seed] for row in metric.values()], [row.per_seed[seed] for row in truth.values()]
        ).statistic
        for seed in range(5)
    ]
    assert found.per_seed == pytest.approx(expected, abs=1e-12)
    low, high = stats.t.interval(0.95, 4, np.mean(expected), stats.sem(expected))
    assert (found.value, found.low, found.high) == pytest.approx((np.mean(expected), max(-1, low), min(1, high)))
    of_means = stats.spearmanr([row.value for row in metric.values()], [row.value for row in truth.values()]).statistic
    assert found.of_means == pytest.approx(of_means, abs=1e-12)
    assert (found.basis, found.count, found.defined) == ("seeds", 5, 5)


def test_correlations_that_cancel_out_have_the_mean_0() -> None:
    order = {round(spearman(range(5), other), 1): other for other in permutations(range(5))}
    seeds = [order[value] for value in (0.5, -0.2, 0.1, -0.3, -0.1, 0.3, -0.2, -0.1)]
    metric = scores({str(method): [float(seed[method]) for seed in seeds] for method in range(5)})
    truth = scores({str(method): [float(method)] * len(seeds) for method in range(5)})
    assert str(agreement(metric, truth, same_direction=True).value) == "0.0"


def test_a_metric_that_is_better_when_lower_is_turned_round() -> None:
    metric, truth = random_scores(1), random_scores(2)
    right, wrong = (agreement(metric, truth, same) for same in (True, False))
    assert wrong.value == pytest.approx(-(right.value or 0))
    assert wrong.of_means == pytest.approx(-(right.of_means or 0))


def test_no_interval_leaves_the_range_of_a_correlation() -> None:
    truth = scores({name: [value] * 3 for name, value in zip("abcd", (1.0, 2.0, 3.0, 4.0), strict=True)})
    metric = scores({"a": [1, 1, 2], "b": [2, 2, 1], "c": [3, 3, 4], "d": [4, 4, 3]})
    found = agreement(metric, truth, same_direction=True)
    assert found.high == 1.0
    assert found.low is not None
    assert -1 <= found.low < 0.6


def test_methods_without_a_value_by_both_are_left_out() -> None:
    truth = scores({"a": [1, 2], "b": [2, 3], "c": [3, 4], "d": [4, 5]})
    metric = scores({"a": [1, 2], "b": [2, 3], "c": [4, None]}) | {"x": Score(1.0, per_seed=(1.0, 1.0))}
    assert agreement(metric, truth, same_direction=True).methods == ("a", "b")
    whole = scores({"a": [1, 2], "b": [2, 3], "c": [4, 1]})
    assert agreement(whole, truth, same_direction=True).methods == ("a", "b", "c")


def test_a_seed_without_any_value_is_left_out_and_counted() -> None:
    truth = scores({"a": [1, None, 2], "b": [2, None, 1], "c": [3, None, 3]})
    found = agreement(truth, truth, same_direction=True)
    assert found.per_seed == (1.0, None, 1.0)
    assert (found.defined, found.count, found.value) == (2, 3, 1.0)


def test_fewer_than_three_methods_have_no_number_but_a_reason() -> None:
    truth = scores({"a": [1, 2, 3], "b": [2, 3, 4]})
    assert agreement(truth, truth, same_direction=True) == Agreement(
        None, methods=("a", "b"), reason="2 methods have a score by both: 3 or more are needed"
    )
    assert agreement({}, truth, same_direction=True).reason.startswith("0 methods have")


def test_methods_that_all_tie_have_no_number_but_a_reason() -> None:
    truth, flat = random_scores(0, methods=4), scores({f"m{index}": [0.5] * 5 for index in range(4)})
    found = agreement(flat, truth, same_direction=True)
    assert (found.value, found.of_means, found.reason) == (None, None, "all methods tie")
    assert found.per_seed == (None,) * 5


@pytest.mark.parametrize(
    ("seeds", "independent", "basis"), [(1, True, "one"), (2, True, "two"), (5, False, "shared"), (5, True, "seeds")]
)
def test_an_interval_needs_three_seeds_of_their_own(seeds: int, independent: bool, basis: str) -> None:
    found = agreement(random_scores(1, seeds=seeds), random_scores(2, seeds=seeds), True, independent)
    assert found.basis == basis
    assert (found.low is None) == (found.high is None) == (basis != "seeds")
    assert found.value == pytest.approx(np.mean([value for value in found.per_seed if value is not None]))


def test_equal_correlations_have_no_interval() -> None:
    truth = random_scores(0)
    found = agreement(truth, truth, same_direction=True)
    assert (found.value, found.low, found.basis) == (1.0, None, "equal")
