"""The plan in a store: a run that is resumed goes on with it; where something else is asked, it is made anew."""

import json
from dataclasses import replace

import numpy as np
import pytest

from assay.core.machine import Resources
from assay.core.spec import Spec
from assay.evaluation import stored_plan as module
from assay.evaluation.plan import Item, Plan
from assay.evaluation.stored_plan import FILE, stored_plan
from assay.evaluation.study import metric_items


@pytest.fixture
def asks(tmp_path, monkeypatch):
    """A call that notes how often times were measured; the plan that fits has half of the rows and no last method."""
    measured = []

    def half(wanted, *_):
        measured.append(wanted)
        kept = tuple(item for item in wanted.methods if item.named or item is not wanted.methods[-1])
        return replace(wanted, methods=kept, rows=wanted.rows // 2, drawn=True, estimate=1.5, dropped=("a", "b"))

    monkeypatch.setattr(module, "fitted", half)
    np.savez(tmp_path / "rows.npz", x=np.ones((8, 6), np.float32))

    def call(rows=8, methods=("gradient", "lime_tabular(times='product')"), named=False, budget=60.0, **given):
        items = tuple(Item(text, Spec.parse(text), named=named) for text in methods)
        wanted = Plan(items, tuple(metric_items(None, ("rows", 0.5), True)), rows, dropped=("no shap",))
        environment = given.get("environment", Spec.of("own", data=str(tmp_path / "rows.npz")))
        resources, keep = given.get("resources", Resources()), given.get("keep", True)
        return stored_plan(wanted, environment, "table", budget, tmp_path / "st", resources, keep)

    call.measured, call.store, call.data = measured, tmp_path / "st", tmp_path / "rows.npz"
    return call


def test_the_same_question_gets_the_same_plan_without_new_measurements(asks):
    first = asks()
    assert asks() == first
    assert len(asks.measured) == 1
    assert (first.rows, first.drawn, first.estimate, first.dropped) == (4, True, 1.5, ("a", "b"))
    assert [item.label for item in first.methods] == ["gradient"]
    assert first.metrics[1].spec.get("canvas") == 0.5


@pytest.mark.parametrize(
    "change",
    [
        {"rows": 6},
        {"methods": ("gradient", "agop")},
        {"named": True},
        {"budget": 30.0},
        {"budget": None},
        {"resources": Resources(2)},
        {"environment": Spec("own")},
    ],
    ids=lambda change: "".join(change),
)
def test_a_plan_is_made_anew_where_something_else_is_asked(asks, change):
    asks()
    changed = asks(**change)
    assert len(asks.measured) == 2
    assert asks(**change) == changed
    assert len(asks.measured) == 2


def test_a_plan_is_made_anew_for_other_rows_in_the_same_file(asks):
    asks()
    np.savez(asks.data, x=np.zeros((8, 6), np.float32))
    asks()
    assert len(asks.measured) == 2


def test_methods_that_are_named_now_are_there_although_a_plan_without_them_is_stored(asks):
    assert len(asks().methods) == 1
    assert len(asks(named=True).methods) == 2


def test_a_dry_run_writes_nothing_and_reads_what_is_there(asks):
    asks(keep=False)
    assert not asks.store.exists()
    asks()
    asks(keep=False)
    assert len(asks.measured) == 2


@pytest.mark.parametrize("text", ["", "{", "[]", '{"asked": 1}', "null"])
def test_a_damaged_plan_is_made_anew(asks, text):
    first = asks()
    (asks.store / FILE).write_text(text)
    assert asks() == first
    assert len(asks.measured) == 2
    assert json.loads((asks.store / FILE).read_text())["plan"]["rows"] == 4


def test_a_plan_that_lost_a_part_is_made_anew(asks):
    first = asks()
    kept = json.loads((asks.store / FILE).read_text())
    del kept["plan"]["methods"]
    (asks.store / FILE).write_text(json.dumps(kept))
    assert asks() == first
