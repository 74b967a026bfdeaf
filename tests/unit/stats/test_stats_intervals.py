"""Intervals: what is drawn together is one unit, against the procedures written out."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from assay.core.evidence import Evidence, Score, mean_score
from assay.stats.intervals import _share_limits, interval, mean_curve


def evidence(values, defined=None):
    rows = {"value": np.asarray(values, dtype=np.float64)}
    return Evidence(rows if defined is None else {**rows, "defined": np.asarray(defined, dtype=bool)})


def another_mean(rows):
    """The same as mean_score, but not the same function."""
    return mean_score(rows)


def largest(rows):
    """A score of the whole set."""
    return Score(float(rows["value"].max()), len(rows), len(rows))


def limits(estimate):
    return estimate.low, estimate.high


def student(values):
    """SciPy's own, written out."""
    values = np.asarray(values, dtype=np.float64)
    return pytest.approx(stats.t.interval(0.95, len(values) - 1, values.mean(), stats.sem(values)), rel=1e-9)


RANDOM = np.random.default_rng(0).normal(size=(5, 8))


# A seed that draws a model is the unit.


def test_from_three_seeds_on_the_interval_is_student_s_over_their_values():
    for seeds in (3, 5):
        estimate = interval([evidence(row) for row in RANDOM[:seeds]])
        assert estimate.basis == "seeds"
        assert limits(estimate) == student(RANDOM[:seeds].mean(axis=1))


def test_samples_do_not_narrow_an_interval_over_seeds():
    few = interval([evidence([value - 1, value + 1]) for value in (0.0, 2.0, 7.0)])
    many = interval([evidence([value - 1, value + 1] * 50) for value in (0.0, 2.0, 7.0)])
    assert limits(few) == limits(many)


@pytest.mark.parametrize(("hits", "seeds"), [(13, 20), (0, 20), (20, 20), (1, 2), (1, 1)])
def test_a_share_of_models_has_clopper_and_pearson_s_interval(hits, seeds):
    exact = stats.binomtest(hits, seeds).proportion_ci(0.95, "exact")
    rows = [evidence([float(number < hits)] * 4) for number in range(seeds)]
    for reduce in (mean_score, largest):
        estimate = interval(rows, reduce, bounds=(0.0, 1.0), yes_or_no=True)
        assert limits(estimate) == pytest.approx((exact.low, exact.high))
        assert (estimate.value, estimate.basis) == (pytest.approx(hits / seeds), "seeds")


def test_where_seeds_draw_samples_only_a_yes_or_no_is_no_share_of_models():
    rows = [evidence([1.0, 1.0]), evidence([0.0, 0.0]), evidence([1.0, 1.0])]
    assert limits(interval(rows, draws_model=False, yes_or_no=True)) == limits(interval(rows, draws_model=False))


def test_two_seeds_are_two_values_and_no_interval():
    estimate = interval([evidence([1, 2]), evidence([4, 6])])
    assert (estimate.basis, estimate.low, estimate.high, estimate.per_seed) == ("two", None, None, (1.5, 5.0))


@pytest.mark.parametrize("seeds", [2, 3, 6])
@pytest.mark.parametrize("reduce", [mean_score, largest])
def test_equal_seeds_have_no_interval(seeds, reduce):
    estimate = interval([evidence([0, 1, 5]) for _ in range(seeds)], reduce)
    assert (estimate.basis, estimate.low, estimate.high) == ("equal", None, None)


def test_seeds_that_rounding_alone_tells_apart_are_equal():
    assert interval([evidence([1.0]), evidence([1.0 - 6e-8]), evidence([1.0])]).basis == "equal"
    assert interval([evidence([1.0]), evidence([1.0 - 6e-5]), evidence([1.0])]).basis == "seeds"


@pytest.mark.parametrize("reduce", [mean_score, another_mean])
def test_one_seed_is_an_interval_over_its_samples_of_this_draw_only(reduce):
    estimate = interval([evidence(RANDOM[0])], reduce)
    assert estimate.basis == "draw"
    assert limits(estimate) == student(RANDOM[0])


def test_of_three_seeds_of_which_two_say_nothing_one_is_left():
    estimate = interval([evidence(RANDOM[0]), *(evidence([1, 2], [False, False]) for _ in range(2))])
    assert (estimate.basis, estimate.per_seed[1:]) == ("draw", (None, None))
    assert limits(estimate) == student(RANDOM[0])


# Where a seed draws samples only, the sample is the unit.


@pytest.mark.parametrize("seeds", [1, 2, 5])
@pytest.mark.parametrize("reduce", [mean_score, another_mean])
def test_samples_of_all_seeds_count_alike(seeds, reduce):
    estimate = interval([evidence(row) for row in RANDOM[:seeds]], reduce, draws_model=False)
    assert estimate.basis == "samples"
    assert limits(estimate) == student(RANDOM[:seeds].ravel())


def test_the_interval_is_around_the_value_where_seeds_define_more_or_fewer_samples():
    """The value is the mean over seeds: samples of a seed with few of them weigh more, and spread it more."""
    uneven = interval([evidence([0, 1, 2, 3, 4, 5]), evidence([10, 12])], draws_model=False)
    assert uneven.value == (2.5 + 11) / 2
    assert (uneven.low + uneven.high) / 2 == pytest.approx(uneven.value)
    values = np.array([0, 1, 2, 3, 4, 5, 10, 12.0])
    error = values.std(ddof=1) * np.sqrt(6 * (1 / 12) ** 2 + 2 * (1 / 4) ** 2)
    assert uneven.high - uneven.value == pytest.approx(stats.t.ppf(0.975, 7) * error)


def test_a_sample_that_several_seeds_have_is_averaged_over_them_first():
    identities = [["a", "b", "c", "d"]] * 3
    rows = RANDOM[:3, :4]
    estimate = interval([evidence(row) for row in rows], draws_model=False, identities=identities)
    assert limits(estimate) == student(rows.mean(axis=0))
    turned = interval(
        [evidence(rows[0]), evidence(rows[1][::-1]), evidence(rows[2])],
        draws_model=False,
        identities=[identities[0], identities[0][::-1], identities[0]],
    )
    assert limits(turned) == pytest.approx(limits(estimate))


def test_samples_of_which_seeds_share_some_weigh_as_often_as_they_come():
    estimate = interval([evidence([1, 2]), evidence([2, 6])], draws_model=False, identities=[["a", "b"], ["b", "c"]])
    assert estimate.value == 2.75  # 1, 2, 6 with weights 1/4, 1/2, 1/4
    half = stats.t.ppf(0.975, 2) * np.std([1, 2, 6], ddof=1) * np.sqrt(1 / 16 + 1 / 4 + 1 / 16)
    assert limits(estimate) == pytest.approx((2.75 - half, 2.75 + half))


@pytest.mark.parametrize("draws_model", [True, False])
@pytest.mark.parametrize("reduce", [mean_score, another_mean, largest])
def test_equal_samples_have_no_interval(draws_model, reduce):
    for values in ([3, 3, 3], [3]):
        estimate = interval([evidence(values)], reduce, draws_model, resamples=20)
        assert (estimate.basis, estimate.low, estimate.high, estimate.value) == ("equal", None, None, 3.0)


def test_seeds_may_agree_where_samples_do_not():
    estimate = interval([evidence([0, 1]), evidence([1, 0])], draws_model=False)
    assert estimate.basis == "samples"
    assert limits(estimate) == student([0, 1, 1, 0])


# Scores of a whole set.


def test_a_score_of_a_set_is_student_s_over_seeds_from_three_on_whatever_seeds_draw():
    for draws_model in (True, False):
        estimate = interval([evidence(row) for row in RANDOM], largest, draws_model)
        assert estimate.basis == "seeds"
        assert limits(estimate) == student(RANDOM.max(axis=1))


def test_a_score_of_a_set_is_reduced_after_resampling():
    estimate = interval([evidence([1, 2, 3])], largest, resamples=2000)
    assert (estimate.value, estimate.basis) == (3.0, "draw")
    assert limits(estimate) == (1.0, 3.0)  # the largest of three is 1 with probability 1/27 > 2.5 %


@pytest.mark.parametrize("together", [True, False])
def test_resamples_draw_a_sample_for_all_seeds_that_have_it(together):
    """The outer quantiles against those of every possible resample; with samples in common, seeds move together."""
    sets = [[0.0, 4.0], [1.0, 10.0]]
    identities = [["a", "b"], ["a", "b"]] if together else [["a", "b"], ["c", "d"]]
    names = sorted({name for row in identities for name in row})
    outcomes = []
    for drawn in product(names, repeat=len(names)):
        rows = [[value for name, value in zip(of, row, strict=True) for _ in range(drawn.count(name))]
                for of, row in zip(identities, sets, strict=True)]  # fmt: skip
        outcomes.append(np.mean([max(row) for row in rows if row]))
    estimate = interval([evidence(row) for row in sets], largest, False, None, identities, resamples=4000)
    assert estimate.basis == "samples"
    assert limits(estimate) == tuple(np.quantile(outcomes, [0.025, 0.975], method="inverted_cdf"))


def test_samples_in_common_keep_a_score_of_a_set_from_an_interval_over_seeds():
    """Three seeds that judge the same samples tell nothing about other samples."""
    rows = [evidence(RANDOM[0]), evidence(RANDOM[0] + 0.001), evidence(RANDOM[0] + 0.002)]
    alone = interval(rows, largest, draws_model=False)
    common = interval(rows, largest, draws_model=False, identities=[list(range(8))] * 3)
    assert (alone.basis, common.basis) == ("seeds", "samples")
    assert common.high - common.low > 10 * (alone.high - alone.low)


def test_a_reduce_that_is_sometimes_undefined_keeps_its_interval():
    def picky(rows):
        return Score(None if rows["value"].max() == 5 else float(rows["value"].max()), len(rows), len(rows))

    estimate = interval([evidence([1, 5]), evidence([1, 2])], picky, resamples=200)
    assert (estimate.value, estimate.per_seed) == (2.0, (None, 2.0))
    assert limits(estimate) == (1.0, 2.0)


def test_where_no_resample_has_a_value_there_is_no_interval():
    def whole(rows):
        return Score(1.0 if len(set(rows["value"])) == 40 else None, len(rows), len(rows))

    estimate = interval([evidence(np.arange(40))], whole, resamples=20)
    assert (estimate.value, estimate.basis, estimate.low) == (1.0, "", None)


def test_resamples_that_hardly_ever_differ_make_no_interval_without_width():
    def steady(rows):
        return Score(1.0 if len(set(rows["value"])) > 5 else 0.0, len(rows), len(rows))

    rows = [evidence(np.arange(12))]
    estimate = interval(rows, steady)
    assert (estimate.value, estimate.basis, estimate.low) == (1.0, "equal", None)


# The range of a metric.


def test_an_interval_ends_at_the_promised_range():
    rows = [evidence(row) for row in ([0.9, 0.95], [0.5, 0.6], [0.99, 0.97])]
    plain, bounded = interval(rows), interval(rows, bounds=(0.0, 1.0))
    assert plain.high > 1
    assert limits(bounded) == (plain.low, 1.0)
    assert limits(interval(rows, bounds=(0.6, 3.0))) == (plain.low, plain.high)  # 0.5 breaks that promise
    lowest = [evidence([value]) for value in (0.1, 2.0, 9.0)]
    assert interval(lowest).low < 0
    assert limits(interval(lowest, bounds=(0.0, 1.7976931348623157e308))) == (0.0, interval(lowest).high)


def clopper_pearson(hits, trials):
    return stats.binomtest(hits, trials).proportion_ci(0.95, method="exact")


@pytest.mark.parametrize("hits, trials", [(0, 9), (1, 9), (5, 9), (9, 9), (47, 48)])
def test_shares_have_the_interval_of_clopper_and_pearson(hits, trials):
    assert _share_limits(hits / trials, trials) == pytest.approx(tuple(clopper_pearson(hits, trials)), abs=1e-9)


@pytest.mark.parametrize("draws_model", [True, False])
@pytest.mark.parametrize("turned", [False, True])
def test_near_an_end_an_interval_is_no_narrower_than_that_of_a_share(draws_model, turned):
    """Of a share between the lowest and the highest value that were seen, whatever the range."""
    values = np.ones((4, 8))
    values[0, 0], values[1, 0] = 0.8, 0.9
    values = 1.8 - values if turned else values
    rows = [evidence(row) for row in values]
    student_s = stats.t.interval(0.95, 3, values.mean(), stats.sem(values.mean(axis=1)))
    if not draws_model:
        student_s = stats.t.interval(0.95, 31, values.mean(), stats.sem(values.ravel()))
    share = clopper_pearson_of((values.mean() - 0.8) / 0.2, 32)
    estimate = interval(rows, mean_score, draws_model, None)
    assert limits(estimate) == pytest.approx(
        (min(student_s[0], 0.8 + 0.2 * share[0]), max(student_s[1], 0.8 + 0.2 * share[1]))
    )
    assert estimate.high - estimate.low > 1.1 * (student_s[1] - student_s[0])


def clopper_pearson_of(share, trials):
    """For shares that are no whole number of trials, by the distribution that it is made of."""
    low = stats.beta.ppf(0.025, share * trials, (1 - share) * trials + 1)
    return low, stats.beta.ppf(0.975, share * trials + 1, (1 - share) * trials)


def test_hits_and_misses_have_at_least_the_interval_of_a_share():
    estimate = interval([evidence([1.0] * 15 + [0.0])], bounds=(0.0, 1.0))
    assert estimate.low == pytest.approx(clopper_pearson(15, 16).low)
    assert estimate.high == 1.0  # where Student's t goes on


def test_half_of_the_samples_on_one_value_are_a_pile_and_fewer_are_not():
    half, fewer = [1.0, 1.0, 1.0, 1.0, 0.5, 0.51, 0.9, 0.95], [1.0, 1.0, 1.0, 0.98, 0.5, 0.51, 0.9, 0.95]
    assert limits(interval([evidence(fewer)])) == student(fewer)
    plain = stats.t.interval(0.95, 7, np.mean(half), stats.sem(half))
    assert interval([evidence(half)]).low < plain[0] - 0.01


def test_samples_that_spread_little_keep_a_narrow_interval_on_the_ceiling():
    estimate = interval([evidence([1.0, 1.0, 1.0, 1.0, 1.0, 0.99, 0.98, 0.97])], bounds=(-1.0, 1.0))
    assert 0.97 < estimate.low < estimate.value < estimate.high <= 1.0


# What is reported.


def test_the_value_is_the_mean_over_seeds_of_each_seed_s_mean():
    for draws_model in (True, False):
        estimate = interval([evidence([0, 1, 2]), evidence([10])], draws_model=draws_model)
        assert estimate.value == 5.5  # not 3.25, the mean over all samples
        assert (estimate.per_seed, estimate.count, estimate.defined) == ((1.0, 10.0), 4, 4)


def test_undefined_rows_are_counted_and_not_averaged():
    estimate = interval([evidence([1, 99, 3], [True, False, True])])
    assert (estimate.value, estimate.count, estimate.defined) == (2.0, 3, 2)
    assert limits(estimate) == student([1, 3])


def test_a_seed_without_a_value_is_shown_as_such():
    estimate = interval([evidence([1, 3]), evidence([9, 9], [False, False])])
    assert (estimate.value, estimate.per_seed, estimate.count, estimate.defined) == (2.0, (2.0, None), 4, 2)


@pytest.mark.parametrize("reduce", [mean_score, another_mean])
def test_nothing_defined_is_no_interval(reduce):
    assert interval([evidence([1, 2], [False, False])], reduce) is None
    assert interval([], reduce) is None


def test_the_same_question_has_the_same_interval():
    rows = [evidence(np.arange(9.0))]
    assert interval(rows, largest).data == interval(rows, largest).data


@settings(max_examples=60)
@given(
    st.lists(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=6), min_size=1, max_size=4),
    st.booleans(),
)
def test_an_interval_holds_the_value_and_stays_within_the_range(sets, draws_model):
    rows = [evidence(*zip(*row, strict=True)) for row in sets]
    defined_values = [value for row in sets for value, defined in row if defined]
    estimate = interval(rows, mean_score, draws_model, (0.0, 1.0))
    if not defined_values:
        assert estimate is None
        return
    assert (estimate.count, estimate.defined) == (sum(map(len, sets)), len(defined_values))
    if estimate.low is None:
        assert estimate.basis in ("two", "equal")
    else:
        assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1


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
