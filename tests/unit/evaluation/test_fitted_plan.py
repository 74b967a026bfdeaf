"""A plan that fits the time: fewer rows first, then fewer steps, then fewer methods; what the user named stays."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from assay.core.machine import Machine
from assay.core.spec import Spec
from assay.evaluation import plan as plans
from assay.evaluation.plan import FEWEST, Item, Plan, Time, Times, fitted
from assay.evaluation.study import metric_items

BLOCK = plans.default_block_size("table")
METHODS = ("quick", "slow", "slowest")


def wanted(rows=200, named=False, metrics=None):
    methods = tuple(Item(name, Spec("gradient"), named=named) for name in METHODS)
    return Plan(methods, tuple(metric_items(metrics, ("mean",), False)), rows)


def times(methods=(0.0, 0.0, 0.0), order=0.0, size=0.0, once=(0.0, 0.0, 0.0), probe=0.0):
    """Seconds for each row, of each method and of the two metrics that decide."""
    return Times(
        dict(zip(METHODS, once, strict=True)),
        {name: Time(row=seconds) for name, seconds in zip(METHODS, methods, strict=True)},
        {"Sensitivity-N": Time(row=probe)},
        {"relevance gain": Time(row=order), "Sensitivity-N": Time(row=size)},
    )


@pytest.fixture
def fit(monkeypatch):
    """The plan for given times; measuring takes none."""
    monkeypatch.setattr(plans, "time", SimpleNamespace(perf_counter=lambda: 0.0))

    def plan(asked, found, budget, workers=1):
        monkeypatch.setattr(plans, "measured", lambda *_: found)
        return fitted(asked, None, "table", budget, workers, Machine())

    return plan


def names(plan):
    return [item.label for item in plan.methods]


def test_without_a_limit_nothing_is_measured_and_nothing_changes(monkeypatch):
    monkeypatch.setattr(plans, "measured", None)  # a call would fail
    assert fitted(wanted(), None, "table", None, 1, Machine()) == wanted()


def test_a_plan_that_fits_stays_and_says_how_long_it_takes(fit):
    asked = wanted()
    found = fit(asked, times((0.01, 0.02, 0.03), order=0.01, size=0.02, once=(1.0, 0.0, 0.0), probe=0.005), 60.0)
    # 200 rows: methods 2, 4, 6; judging 3 x (2 + 4); one fit; one probe for all methods
    assert found.estimate == pytest.approx(12 + 18 + 1 + 1)
    assert found == replace(asked, estimate=found.estimate)


def test_a_block_costs_its_own_time():
    assert Time(block=2.0, row=0.5).total(BLOCK + 1, BLOCK) == 2 * 2.0 + (BLOCK + 1) * 0.5
    assert Time().total(7, BLOCK) == 0


def test_rows_are_the_first_sacrifice(fit):
    asked = wanted()
    found = fit(asked, times((0.1, 0.1, 0.1)), 30.0)
    assert (found.rows, found.drawn) == (100, True)
    assert (found.methods, found.metrics) == (asked.methods, asked.metrics)
    assert found.estimate == pytest.approx(30.0)
    assert found.dropped == ("100 of 200 rows, for lack of time; the others were drawn at random",)


def test_workers_share_the_work(fit):
    assert fit(wanted(), times((0.1, 0.1, 0.1)), 30.0, workers=2).rows == 200
    assert fit(wanted(), times((0.1, 0.1, 0.1)), 30.0, workers=2).estimate == pytest.approx(30.0)


def test_steps_and_sets_come_next_once_rows_are_few(fit):
    asked = wanted()
    halved = fit(asked, times(order=0.1, size=0.1), 14.0)  # 0.6 a row: 23 rows; with half the steps 46
    assert halved.rows == 46
    assert [str(item.spec) for item in halved.metrics] == [
        "symmetric_relevance_gain(canvas='mean', steps=16)",
        "sensitivity_n(canvas='mean', sets=50)",
        "unfamiliar_share(canvas='mean')",
    ]
    assert halved.dropped[-1] == "some steps and sets of the metrics that decide"
    assert halved.estimate == pytest.approx(46 * 0.3)
    quartered = fit(asked, times(order=0.1, size=0.1), 7.0)
    assert quartered.rows == 46
    assert quartered.metrics[0].spec.get("steps") == 8
    assert (quartered.metrics[1].spec.get("sets"), quartered.metrics[1].spec.get("sizes")) == (50, 4)
    assert names(quartered) == list(METHODS)


def test_steps_of_a_metric_on_a_function_are_those_that_its_spec_says(fit):
    def canvas(x, keep):
        return x

    asked = replace(wanted(), metrics=tuple(metric_items(None, (canvas,), True)))
    found = fit(asked, times(order=0.1, size=0.1), 14.0)
    assert [item.instance.steps for item in found.metrics[:1]] == [16]
    assert found.metrics[1].instance.sets == 50
    assert all(item.instance.canvas is canvas for item in found.metrics)


@pytest.fixture
def one_method_is_enough(monkeypatch):
    monkeypatch.setattr(plans, "LEAST_METHODS", 1)


def test_some_methods_and_rows_are_left_however_short_the_time(fit):
    found = fit(wanted(), times((50.0, 60.0, 70.0)), 1.0)
    assert (names(found), found.rows) == (list(METHODS), FEWEST)
    assert found.estimate == pytest.approx(FEWEST * 180.0)
    assert fit(wanted(rows=1), times((50.0, 60.0, 70.0)), 1.0).rows == 1


def test_a_control_is_not_dropped(fit, one_method_is_enough):
    asked = wanted()
    control = Item("control", Spec("random_map"))
    found = fit(replace(asked, methods=(*asked.methods, control)), times((50.0, 60.0, 70.0)), 1.0)
    assert names(found) == ["quick", "control"]


@pytest.mark.usefixtures("one_method_is_enough")
def test_the_slowest_methods_go_last_and_are_named(fit):
    found = fit(wanted(), times((0.01, 0.2, 10.0)), 10.0)
    assert names(found) == ["quick", "slow"]
    assert found.rows == 47
    assert found.dropped[0] == "slowest, for lack of time"
    found = fit(wanted(), times((0.01, 5.0, 10.0)), 10.0)
    assert names(found) == ["quick"]
    assert found.dropped[0] == "slowest and slow, for lack of time"


@pytest.mark.usefixtures("one_method_is_enough")
def test_the_time_of_a_fit_counts_against_a_method(fit):
    assert names(fit(wanted(), times((0.01, 0.02, 0.03), once=(99.0, 0.0, 0.0)), 10.0)) == ["slow", "slowest"]


@pytest.mark.usefixtures("one_method_is_enough")
def test_what_the_user_named_is_neither_dropped_nor_made_cheaper(fit):
    asked = wanted(named=True, metrics=[("sensitivity_n", Spec("sensitivity_n"))])
    found = fit(asked, Times(methods=dict.fromkeys(METHODS, Time(row=50.0))), 1.0)
    assert (found.methods, found.metrics, found.rows) == (asked.methods, asked.metrics, FEWEST)


def test_few_rows_are_not_drawn_where_there_are_no_more(fit):
    found = fit(wanted(rows=FEWEST - 2), times((0.1, 0.1, 0.1)), 60.0)
    assert (found.rows, found.drawn, found.dropped) == (FEWEST - 2, False, ())
