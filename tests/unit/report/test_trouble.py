"""A reason is told once, with everything that it concerns, and with nothing else."""

from __future__ import annotations

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from assay.report.trouble import Group, Outcome, sorted_out

METHODS, METRICS, PLACES = ("a", "b", "c"), ("f1", "road"), ("here", "there")
GRID = tuple(product(PLACES, METHODS, METRICS))


def cells(missing: dict[tuple[str, str, str], str], status: str = "skipped") -> list[Outcome]:
    return [Outcome(status if place in missing else "ok", missing.get(place, ""), *place) for place in GRID]


def told(missing: dict[tuple[str, str, str], str]) -> list[str]:
    return [str(group) for group in sorted_out(cells(missing))]


def concerned(group: Group) -> list[tuple[str, str, str]]:
    """What a reader takes its parts to be."""
    parts = [(part.environments or PLACES, part.methods or METHODS, part.metrics or METRICS) for part in group.parts]
    return [place for part in parts for place in product(*part)]


def test_methods_that_do_not_fit_are_named_together() -> None:
    missing = {place: "needs a layer" for place in GRID if place[1] in "ab"}
    assert told(missing) == ["needs a layer: a, b (all metrics)"]


def test_a_metric_that_does_not_fit_is_named_for_all_methods_where_it_does_not() -> None:
    missing = {place: "needs truth" for place in GRID if place[0] == "here" and place[2] == "f1"}
    assert told(missing) == ["needs truth: all methods (f1) on here"]


def test_what_is_no_rectangle_is_told_in_parts_of_one_reason() -> None:
    missing = {("here", "a", "f1"): "why", ("here", "a", "road"): "why", ("there", "b", "f1"): "why"}
    assert told(missing) == ["why: a (all metrics) on here; b (f1) on there"]


def test_the_only_metric_is_named_and_not_called_all() -> None:
    found = sorted_out([Outcome("skipped", "why", "", "a", "f1"), Outcome("ok", "", "", "b", "f1")])
    assert [str(group) for group in found] == ["why: a (f1)"]


def test_failures_come_first() -> None:
    skipped = Outcome("skipped", "why", "here", "a", "f1")
    failed = Outcome("failed", "ValueError", "here", "b", "f1")
    assert [group.status for group in sorted_out([skipped, failed])] == ["failed", "skipped"]


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.dictionaries(st.sampled_from(GRID), st.sampled_from(["one", "another"])))
def test_every_missing_cell_is_told_exactly_once_under_its_reason(missing: dict[tuple[str, str, str], str]) -> None:
    groups = sorted_out(cells(missing))
    assert len({group.reason for group in groups}) == len(groups)
    found = [(place, group.reason) for group in groups for place in concerned(group)]
    assert sorted(found) == sorted(missing.items())
    assert all(len(group.cells) == len(concerned(group)) for group in groups)
