"""What a metric promises with the parameters that it has."""

import json
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from assay.catalogue.build import component_and_name
from assay.core.facts import fact, facts_with, promised_range


@dataclass(frozen=True)
class Cut:
    cut: bool = True
    range: ClassVar[Any] = (0, 1)
    varies: ClassVar[Any] = (("cut", False, "range"),)


def test_a_range_is_promised_unless_a_parameter_costs_it():
    assert promised_range(Cut()) == (0.0, 1.0)
    assert promised_range(Cut(cut=False)) is None
    assert fact(Cut(cut=False), "range") is None
    assert fact(Cut(cut=False), "ideal", 7) == 7


@dataclass(frozen=True)
class Turned:
    order: str = "up"
    absolute: bool = False
    higher_is_better: ClassVar[Any] = True
    invariant: ClassVar[Any] = ("scale", "shift", "monotone")
    exact_on_linear: ClassVar[Any] = True
    controls: ClassVar[Any] = "edges"
    varies: ClassVar[Any] = (
        ("order", "down", {"higher_is_better": False, "controls": None}),
        ("order", "down", "monotone"),
        ("absolute", True, "shift"),
        ("absolute", True, "exact"),
        ("absolute", True, "direction"),
    )


def test_a_fact_is_what_the_parameters_make_of_it():
    assert fact(Turned(), "higher_is_better") is True
    assert fact(Turned("down"), "higher_is_better") is False
    assert fact(Turned(), "controls", "") == "edges"
    assert fact(Turned("down"), "controls", "") == ""


def test_promises_that_two_parameters_cost_are_both_lost():
    assert fact(Turned(), "invariant") == ("scale", "shift", "monotone")
    assert fact(Turned("down"), "invariant") == ("scale", "shift")
    assert fact(Turned("down", absolute=True), "invariant") == ("scale",)
    assert fact(Turned(absolute=True), "exact_on_linear") is False
    assert fact(Turned(absolute=True), "prefers_truth", True) is False


def test_facts_that_were_stored_are_read_by_the_same_rule():
    names = ("higher_is_better", "invariant", "controls", "varies")
    kept = json.loads(json.dumps({name: getattr(Turned, name) for name in names}))
    found = facts_with(kept, {"order": "down", "absolute": True})
    assert found["higher_is_better"] is False
    assert tuple(found["invariant"]) == ("scale",)
    assert "controls" not in found
    assert facts_with(kept, {})["higher_is_better"] is True


@pytest.mark.parametrize("spec, expected", [("f1", (0.0, 1.0)), ("spearman", (-1.0, 1.0)),
                                            ("deletion(readout='logit')", None)])  # fmt: skip
def test_metrics_of_the_catalogue_promise_theirs(spec, expected):
    assert promised_range(component_and_name("metrics", spec)[0]) == expected


@pytest.mark.parametrize("said", [None, 3, "ab", ("a", "b"), (1.0,), (1.0, 0.0), (0.0, 0.0), range(2)])
def test_what_is_no_range_promises_nothing(said):
    assert promised_range(type("Odd", (), {"range": said})()) is None


def test_what_somebody_else_s_metric_says_of_itself_counts():
    def shares(model, x, y, a):
        return a.mean(dim=1)

    shares.range = (0.0, 2.0)
    metric, _ = component_and_name("metrics", shares)
    assert promised_range(metric) == (0.0, 2.0)
    del shares.range
    assert promised_range(component_and_name("metrics", shares)[0]) is None
