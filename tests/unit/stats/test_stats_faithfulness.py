"""A method is refuted, undecided, not testable or not refuted; it is never called faithful."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core.evidence import Score
from assay.core.floors import Check
from assay.stats.faithfulness import Measured, Verdict, checks_for

F1 = Check("F1", 0.5, "overall")
values = st.dictionaries(st.sampled_from(["A", "B", "C", "D"]), st.floats(-1, 2))


def measured_in(environment, value, check=F1, rule="interval", **fields):
    return Measured(check, Score(value, environment=environment, **fields), rule)


def points(measured, gamma=0.5):
    """A verdict by values alone."""
    return Verdict(
        "m",
        gamma,
        tuple(measured_in(environment, value, Check("F1", gamma)) for environment, value in measured.items()),
    )


def spanned(low, high, basis="seeds", rule="interval", per_seed=()):
    return Verdict(
        "m", 0.5, (measured_in("A", (low + high) / 2, rule=rule, low=low, high=high, basis=basis, per_seed=per_seed),)
    )


@settings(max_examples=50)
@given(values, st.floats(0, 1))
def test_by_values_refuted_means_below_gamma_somewhere(measured, gamma):
    verdict = points(measured, gamma)
    below = [name for name, value in measured.items() if value < gamma * (1 - 1e-6)]
    assert sorted(verdict.refuted_by) == sorted(below)
    assert verdict.refuted == bool(below)
    assert set(verdict.tested_in) == set(measured)
    worst = [measured[name] for name in verdict.refuted_by]
    assert worst == sorted(worst)
    assert "faithful" not in str(verdict)


@pytest.mark.parametrize(
    ("measured", "text"),
    [
        ({"A": 0.9}, "not refuted"),
        ({"A": 0.5}, "not refuted"),  # at gamma is not below it
        ({"A": 0.4999}, "refuted by A (F1 0.500)"),
        ({"A": 0.5 - 1e-15}, "not refuted"),  # nor is what rounding took from it
        ({"A": 0.4, "B": 0.1, "C": 0.9}, "refuted by B (F1 0.100); A (F1 0.400)"),
        ({}, "not tested"),
    ],
)
def test_the_verdict_in_words(measured, text):
    assert str(points(measured)) == text


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [
        (0.30, 0.49, "refuted"),
        (0.30, 0.51, "undecided"),
        (0.30, 0.50, "undecided"),
        (0.49, 0.90, "undecided"),
        (0.50, 0.90, "not refuted"),
    ],
)
@pytest.mark.parametrize("basis", ["seeds", "samples"])
def test_the_whole_interval_must_lie_on_one_side(low, high, outcome, basis):
    verdict = spanned(low, high, basis)
    assert verdict.outcome == outcome
    assert not verdict.by_value


@pytest.mark.parametrize(("basis", "rule"), [("draw", "interval"), ("two", "interval"), ("seeds", "point")])
def test_without_three_draws_and_by_the_papers_rule_the_value_decides_and_that_is_said(basis, rule):
    verdict = spanned(0.30, 0.60, basis, rule)
    assert verdict.outcome == "refuted"
    assert verdict.by_value
    assert spanned(0.45, 0.60, basis, rule).outcome == "not refuted"


def test_values_that_are_equal_in_all_draws_need_no_interval():
    verdict = Verdict("m", 0.5, (measured_in("A", 0.6, basis="equal"),))
    assert verdict.outcome == "not refuted"
    assert not verdict.by_value


def test_one_environment_below_refutes_whatever_is_open_elsewhere():
    open_ = measured_in("A", 0.5, low=0.4, high=0.6, basis="seeds")
    below = measured_in("B", 0.3, low=0.2, high=0.4, basis="seeds")
    assert Verdict("m", 0.5, (open_, below)).outcome == "refuted"
    assert Verdict("m", 0.5, (open_, below)).refuted_by == ("B",)


def test_the_draws_below_gamma_are_counted():
    verdict = spanned(0.40, 0.49, per_seed=(0.4, None, 0.45, 0.52))
    assert verdict.measured[0].draws_below == (2, 3)
    assert str(verdict) == "refuted by A (F1 0.445 [0.400, 0.490], below in 2 of 3 draws)"


def test_a_method_without_negative_values_is_held_to_positive_truth_and_that_is_said():
    checks = (F1, Check("F1, positive", 0.5, "positive"), Check("F1, negative", 0.5, "negative"))
    assert checks_for(checks, positive_only=True) == checks[1:2]
    assert checks_for(checks, positive_only=False) == checks
    assert checks_for((F1,), positive_only=True) == (F1,)  # nothing else was asked
    verdict = Verdict("m", 0.5, (measured_in("A", 0.9, checks[1]),), positive_only=True)
    assert str(verdict) == "not refuted (on positive truth: it has no negative values by design)"


def test_in_brief_the_worst_check_of_an_environment_stands_for_the_others():
    measured = (measured_in("A", 0.2), measured_in("A", 0.1, Check("signs", 0.75)), measured_in("B", 0.4))
    verdict = Verdict("m", 0.5, measured)
    assert verdict.brief() == "refuted by A (signs 0.100 and 1 more); B (F1 0.400)"
    assert "F1 0.200" in str(verdict)


def limited(environment, value, ceiling, check=F1, grid="3x3 grid", **fields):
    return Measured(check, Score(value, environment=environment, ceiling=ceiling, **fields), grid=grid)


@pytest.mark.parametrize(
    ("value", "ceiling", "outcome"),
    [
        (0.2, 0.362, "not testable"),
        (0.2, 0.5, "refuted"),  # the best map just passes
        (0.2, 0.5 - 1e-15, "refuted"),  # a ceiling that misses the floor by rounding only is not below it
        (0.2, None, "refuted"),  # no ceiling is known
        (0.5, 0.5, "not refuted"),
        (0.6, 0.4, "not refuted"),  # a map with the truth's ties may exceed Spearman's ceiling
    ],
)
def test_a_floor_above_the_ceiling_refutes_nobody(value, ceiling, outcome):
    assert Verdict("m", 0.5, (limited("A", value, ceiling),)).outcome == outcome


def test_an_interval_that_contains_a_floor_above_the_ceiling_is_not_testable():
    open_ = limited("A", 0.45, 0.48, low=0.4, high=0.52, basis="seeds")
    assert Verdict("m", 0.5, (open_,)).outcome == "not testable"


def test_what_is_not_testable_is_said_with_the_best_score_of_its_grid():
    verdict = Verdict("m", 0.5, (limited("A", 0.2, 0.3624),))
    assert str(verdict) == "not testable at this size: A (F1: the best map of its 3x3 grid scores 0.362)"
    without_grid = Verdict("m", 0.5, (limited("A", 0.2, 0.3624, grid=""),))
    assert str(without_grid) == "not testable: A (F1: the best map scores 0.362)"


def test_checks_that_can_be_tested_decide_and_the_others_are_named():
    signs = Check("signs", 0.75, "agreement")
    blocked, passed = limited("A", 0.2, 0.4), measured_in("B", 0.9)
    named = "not testable at this size: A (F1: the best map of its 3x3 grid scores 0.400)"
    assert str(Verdict("m", 0.5, (blocked, passed))) == f"not refuted; {named}"
    assert str(Verdict("m", 0.5, (blocked, measured_in("B", 0.3)))) == f"refuted by B (F1 0.300); {named}"
    assert Verdict("m", 0.5, (blocked, measured_in("A", 0.1, signs))).outcome == "refuted"
    # An environment is passed only if all of its checks are.
    assert Verdict("m", 0.5, (blocked, measured_in("A", 0.9, signs))).outcome == "not testable"


def test_a_required_method_that_is_not_testable_fails_a_strict_test_only():
    verdict = Verdict("m", 0.5, (limited("A", 0.2, 0.4),))
    assert not verdict.fails(strict=False)
    assert verdict.fails(strict=True)


def test_the_lowest_ceiling_of_its_checks_is_that_of_a_verdict():
    measured = (limited("A", 0.6, 0.9), limited("B", 0.6, 0.7), measured_in("B", 0.8))
    assert Verdict("m", 0.5, measured).ceiling == 0.7
    assert Verdict("m", 0.5, measured[2:]).ceiling is None
