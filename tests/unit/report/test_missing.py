"""Every reason is given once, with exactly the cells that it concerns."""

from __future__ import annotations

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core.evidence import Score
from assay.report.missing import Group, grouped_by_reason

METHODS, METRICS, ENVIRONMENTS = ("a", "b", "c"), ("f1", "road"), ("here", "there")
GRID = tuple(product(ENVIRONMENTS, METHODS, METRICS))


def cells(missing: dict[tuple[str, str, str], str], status: str = "skipped") -> list[Score]:
    return [
        Score(
            None,
            status=status if cell in missing else "ok",
            reason=missing.get(cell, ""),
            **dict(zip(("environment", "method", "metric"), cell, strict=True)),
        )
        for cell in GRID
    ]


def texts(missing: dict[tuple[str, str, str], str]) -> list[str]:
    return [str(group) for group in grouped_by_reason(cells(missing))]


def concerned_cells(group: Group) -> list[tuple[str, str, str]]:
    """The cells that a group's parts stand for."""
    parts = [
        (part.environments or ENVIRONMENTS, part.methods or METHODS, part.metrics or METRICS) for part in group.parts
    ]
    return [cell for part in parts for cell in product(*part)]


def test_methods_that_do_not_fit_are_named_together() -> None:
    missing = {cell: "needs a layer" for cell in GRID if cell[1] in "ab"}
    assert texts(missing) == ["needs a layer: a, b (all metrics)"]


def test_a_metric_that_does_not_fit_is_named_for_all_methods_where_it_does_not() -> None:
    missing = {cell: "needs truth" for cell in GRID if cell[0] == "here" and cell[2] == "f1"}
    assert texts(missing) == ["needs truth: all methods (f1) on here"]


def test_cells_that_form_no_rectangle_are_listed_in_parts_of_one_reason() -> None:
    missing = {("here", "a", "f1"): "why", ("here", "a", "road"): "why", ("there", "b", "f1"): "why"}
    assert texts(missing) == ["why: a (all metrics) on here; b (f1) on there"]


def test_the_only_metric_is_named_and_not_called_all() -> None:
    groups = grouped_by_reason(
        [Score(None, status="skipped", reason="why", method="a", metric="f1"), Score(1.0, method="b", metric="f1")]
    )
    assert [str(group) for group in groups] == ["why: a (f1)"]


def test_failures_come_first() -> None:
    skipped = Score(None, status="skipped", reason="why", environment="here", method="a", metric="f1")
    failed = Score(None, status="failed", reason="ValueError", environment="here", method="b", metric="f1")
    assert [group.status for group in grouped_by_reason([skipped, failed])] == ["failed", "skipped"]


@settings(max_examples=80)
@given(st.dictionaries(st.sampled_from(GRID), st.sampled_from(["one", "another"])))
def test_every_missing_cell_is_listed_exactly_once_under_its_reason(missing: dict[tuple[str, str, str], str]) -> None:
    groups = grouped_by_reason(cells(missing))
    assert len({group.reason for group in groups}) == len(groups)
    named_cells = [(cell, group.reason) for group in groups for cell in concerned_cells(group)]
    assert sorted(named_cells) == sorted(missing.items())
    assert all(len(group.cells) == len(concerned_cells(group)) for group in groups)
