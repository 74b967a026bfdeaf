"""Intervals: two levels of resampling, seeds then samples, against the procedure written out."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core.evidence import Evidence, Score, mean_score
from assay.stats.intervals import _resampled, _resampled_means, interval, mean_curve


def evidence(values, defined=None):
    rows = {"value": np.asarray(values, dtype=np.float64)}
    return Evidence(rows if defined is None else {**rows, "defined": np.asarray(defined, dtype=bool)})


def plain(found):
    """The same as mean_score, but not the same function: takes the general path."""
    return mean_score(found)


# The distribution of one resample, by enumeration.


def law(per_seed):
    """Every outcome of one two-level resample with its probability; outcomes without a value are left out."""
    seeds = len(per_seed)
    weights = {}
    for picked in product(range(seeds), repeat=seeds):
        choices = [list(product(range(len(per_seed[seed])), repeat=len(per_seed[seed]))) for seed in picked]
        for rows in product(*choices):
            means = []
            for seed, chosen in zip(picked, rows, strict=True):
                known = [per_seed[seed]["value"][row] for row in chosen if per_seed[seed].defined[row]]
                if known:
                    means.append(sum(known) / len(known))
            weight = 1 / seeds**seeds
            for options in choices:
                weight /= len(options)
            outcome = round(sum(means) / len(means), 9) if means else None
            weights[outcome] = weights.get(outcome, 0) + weight
    return weights


CASES = {
    "one seed": [evidence([0, 1, 5])],
    "two seeds of one sample": [evidence([0]), evidence([1])],
    "two seeds": [evidence([0, 4]), evidence([1, 10])],
    "uneven seeds": [evidence([0, 4, 6]), evidence([1])],
    "with undefined rows": [evidence([0, 4], [True, True]), evidence([1, 99], [True, False])],
    "with an undefined seed": [evidence([0, 4]), evidence([99, 99], [False, False])],
    "sometimes undefined": [evidence([3, 99], [True, False])],
}


def shares(draws):
    """How often each outcome was drawn; NaN is None."""
    found = {}
    for draw in draws:
        outcome = None if np.isnan(draw) else round(float(draw), 9)
        found[outcome] = found.get(outcome, 0) + 1 / len(draws)
    return found


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("path", ["means at once", "general"])
def test_resamples_follow_the_law_of_two_levels(name, path):
    per_seed, count, rng = CASES[name], 2000, np.random.default_rng(1)
    if path == "general":
        draws = np.array([_resampled(per_seed, plain, rng) for _ in range(count)])
    else:
        draws = _resampled_means(per_seed, count, rng)
    expected, found = law(per_seed), shares(draws)
    assert set(found) <= set(expected)
    for outcome, probability in expected.items():
        error = (probability * (1 - probability) / count) ** 0.5
        assert abs(found.get(outcome, 0) - probability) <= 5 * error + 1e-9, outcome


def test_both_paths_agree_on_a_large_case():
    rng = np.random.default_rng(2)
    per_seed = [evidence(rng.normal(seed, 1, 12), rng.random(12) < 0.7) for seed in range(4)]
    fast, slow = interval(per_seed, resamples=2000), interval(per_seed, plain, resamples=2000, seed=9)
    assert (fast.value, fast.per_seed, fast.count, fast.defined) == (
        slow.value,
        slow.per_seed,
        slow.count,
        slow.defined,
    )
    spread = (fast.high - fast.low) / (2 * 1.96)
    # a 2.5 % quantile of 2000 normal draws has a standard error of 0.06 standard deviations; 5 of them, twice
    assert abs(fast.low - slow.low) < 0.42 * spread
    assert abs(fast.high - slow.high) < 0.42 * spread


def test_bounds_are_the_outer_quantiles_of_the_resamples():
    values = np.random.default_rng(5).normal(size=(2, 20))
    per_seed = [evidence(row) for row in values]
    found = interval(per_seed, resamples=500, seed=4)
    draws = np.sort(_resampled_means(per_seed, 500, np.random.default_rng(4)))
    assert (found.low, found.high) == tuple(np.quantile(draws, [0.025, 0.975]))
    assert np.sum(draws < found.low) == 13  # 2.5 % of 500, rounded up
    assert np.sum(draws > found.high) == 13


# What is reported.


def test_the_value_is_the_mean_over_seeds_of_each_seed_s_mean():
    found = interval([evidence([0, 1, 2]), evidence([10])])
    assert found.value == 5.5  # not 3.25, the mean over all samples
    assert (found.per_seed, found.count, found.defined) == ((1.0, 10.0), 4, 4)


def test_undefined_rows_are_counted_and_not_averaged():
    found = interval([evidence([1, 99, 3], [True, False, True])])
    assert (found.value, found.count, found.defined) == (2.0, 3, 2)
    assert 1 <= found.low <= found.high <= 3


def test_a_seed_without_a_value_is_shown_as_such():
    found = interval([evidence([1, 3]), evidence([9, 9], [False, False])])
    assert (found.value, found.per_seed, found.count, found.defined) == (2.0, (2.0, None), 4, 2)


@pytest.mark.parametrize("reduce", [mean_score, plain])
def test_nothing_defined_is_no_interval(reduce):
    assert interval([evidence([1, 2], [False, False])], reduce) is None
    assert interval([], reduce) is None


@pytest.mark.parametrize("reduce", [mean_score, plain])
def test_one_sample_has_an_interval_of_no_width(reduce):
    found = interval([evidence([7])], reduce, resamples=50)
    assert (found.value, found.low, found.high) == (7.0, 7.0, 7.0)


def test_one_seed_varies_over_samples_and_many_seeds_over_seeds_too():
    values = np.random.default_rng(0).normal(size=30)
    one = interval([evidence(values)])
    assert one.low < one.value < one.high
    apart = interval([evidence(values - 10), evidence(values), evidence(values + 10)])
    assert apart.high - apart.low > 10  # the seeds differ far more than the samples


def test_the_same_question_has_the_same_interval():
    per_seed = [evidence(np.arange(9.0)), evidence(np.arange(5.0))]
    assert interval(per_seed) == interval(per_seed)
    assert interval(per_seed).low != interval(per_seed, seed=1).low


def test_a_metric_of_the_whole_set_is_reduced_after_resampling():
    def largest(found):
        return Score(float(found["value"].max()), len(found), len(found))

    per_seed = [evidence([1, 2, 3])]
    found = interval(per_seed, largest, resamples=2000)
    assert found.value == 3.0
    assert (found.low, found.high) == (1.0, 3.0)  # the largest of three is 1 with probability 1/27 > 2.5 %
    draws = [_resampled(per_seed, largest, np.random.default_rng(seed)) for seed in range(2000)]
    share = draws.count(3.0) / 2000
    assert abs(share - 19 / 27) < 5 * (19 * 8 / 27**2 / 2000) ** 0.5


def test_a_reduce_that_is_sometimes_undefined_keeps_its_interval():
    def picky(found):
        return Score(None if 5.0 in found["value"] else 1.0, len(found), len(found))

    found = interval([evidence([1, 5]), evidence([1, 1])], picky, resamples=200)
    assert (found.value, found.per_seed, found.low, found.high) == (1.0, (None, 1.0), 1.0, 1.0)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    st.lists(st.lists(st.tuples(st.floats(-100, 100), st.booleans()), min_size=1, max_size=6), min_size=1, max_size=3)
)
def test_an_interval_lies_within_the_defined_values(sets):
    per_seed = [evidence(*zip(*rows, strict=True)) for rows in sets]
    known = [value for rows in sets for value, defined in rows if defined]
    found = interval(per_seed, resamples=50)
    if not known:
        assert found is None
        return
    assert min(known) - 1e-9 <= found.low <= found.high <= max(known) + 1e-9
    assert min(known) - 1e-9 <= found.value <= max(known) + 1e-9
    assert (found.count, found.defined) == (sum(map(len, sets)), len(known))


@pytest.mark.parametrize(("seeds", "samples"), [(1, 100), (24, 4)])
def test_a_95_percent_interval_covers_the_truth_in_about_95_percent(seeds, samples):
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(200):
        shift = rng.normal(0, 1, seeds) if seeds > 1 else [0.0]
        found = interval([evidence(rng.normal(mean, 1, samples)) for mean in shift], resamples=1000)
        covered += found.low <= 0 <= found.high
    assert 180 <= covered <= 198


# Curves.


def test_curves_are_averaged_where_they_are_defined():
    scores = [
        Score(1.0, 1, 1, np.array([1.0, 2.0, 0.0]), np.array([True, True, False])),
        Score(1.0, 1, 1, np.array([3.0, 0.0, 0.0]), np.array([True, False, False])),
        Score(None, 1, 0),
    ]
    mean, defined = mean_curve(scores)
    assert mean.tolist() == [2.0, 2.0, 0.0]
    assert defined.tolist() == [True, True, False]


def test_curves_without_a_word_about_it_are_defined_everywhere():
    mean, defined = mean_curve([Score(1.0, 1, 1, np.array([1, 2])), Score(1.0, 1, 1, np.array([3, 4]))])
    assert mean.tolist() == [2.0, 3.0]
    assert mean.dtype == np.float64
    assert defined.all()


def test_no_curve_is_none():
    assert mean_curve([Score(1.0, 1, 1), Score(None, 1, 0)]) is None
    assert mean_curve([]) is None


def test_value_and_interval_agree_on_what_is_defined():
    found = interval([Evidence({"value": np.array([10.0, 20.0, 20.0, 20.0]), "defined": np.array([0, 1, 1, 1])})])
    assert found.low <= found.value <= found.high
