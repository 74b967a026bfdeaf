"""What the user asked for, as items of a plan."""

import pytest

from assay.core.errors import SpecError
from assay.evaluation.asked import asked_metrics, asked_rows, by_name, checked_budget, either
from assay.metrics.deletion import Deletion


def test_a_parameter_with_two_names_is_given_by_one():
    assert either(reference=None, background=3) == 3
    assert either(reference=3, background=None) == 3
    assert either(reference=None, background=None) is None
    with pytest.raises(SpecError, match="reference and background are two names for the same: give one"):
        either(reference=3, background=3)


def test_objects_stay_as_they_are_and_specs_get_a_canvas():
    spec, made, fixed = asked_metrics(["deletion", Deletion(), "deletion(canvas=2.0)"], ("rows", "mean"), False)
    assert (spec.spec.get("canvas"), spec.instance) == ("rows", None)
    assert made.instance == Deletion()
    assert made.spec.get("canvas") == "zero"
    assert fixed.spec.get("canvas") == 2.0


def test_metrics_that_are_asked_for_twice_have_two_labels():
    items = asked_metrics(["deletion", Deletion(), Deletion(), "deletion"], ("rows",), False)
    assert [item.label for item in items] == ["deletion", "Deletion", "Deletion (2)", "deletion (2)"]
    assert list(by_name([(1, "a"), (2, "a"), (3, "b"), (4, "a")])) == ["a", "a (2)", "b", "a (3)"]


def test_rows_are_limited_by_what_there_is():
    assert [asked_rows(limit, 8) for limit in (None, 1, 8, 9)] == [8, 1, 8, 8]
    for limit in (0, -1):
        with pytest.raises(SpecError, match="leaves no rows: give at least 1"):
            asked_rows(limit, 8)


@pytest.mark.parametrize("budget", ["60s", 0, -1.0, True, float("nan"), [60]])
def test_a_budget_is_a_number_of_seconds(budget):
    with pytest.raises(SpecError, match="give a number of seconds, or None"):
        checked_budget(budget)


def test_any_time_or_none_is_a_budget():
    assert [checked_budget(budget) for budget in (None, 1, 0.5)] == [None, 1.0, 0.5]
