"""Findings: each rule writes where planted scores support it, and is silent where they do not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import pytest

from assay.catalogue.registry import card
from assay.core.evidence import Score
from assay.core.floors import Check
from assay.core.spec import Spec
from assay.report.board import Board, Line
from assay.report.board_findings import Scene
from assay.report.components import Component
from assay.report.finding import Finding, foremost
from assay.report.findings import _verdicts
from assay.report.remarks import MethodRemarks
from assay.stats.faithfulness import Measured, Verdict
from assay.stats.ranks import ranks

METHODS = ("gradient", "integrated_gradients", "lrp", "random_map")
DIRECTIONS = {"f1": True, "insertion": True, "deletion": False}
SPECS = {"f1": Spec("f1"), "insertion": Spec.of("deletion", direction="insert"), "deletion": Spec("deletion")}
Values = Mapping[str, Mapping[str, float]]  # by metric and method


def scene(values: Values, alike: Iterable[tuple[str, str, str]] = (), units: bool = True) -> Scene:
    """A board of these values. All pairs are separated but those that are named with their metric; without ``units``
    intervals decide, which are .05 to both sides."""
    metrics = {
        name: Component(0, name, SPECS[name], card("metrics", SPECS[name].name).with_params(SPECS[name]), {})
        for name in values
    }
    methods = {
        name: Component(0, name, Spec(name), card("methods", name), {}, control=name == "random_map")
        for name in METHODS
    }
    place = {metric: ranks(dict(row), DIRECTIONS[metric]) for metric, row in values.items()}
    lines = tuple(
        Line(
            name,
            {
                metric: Score(
                    row[name],
                    low=row[name] - 0.05,
                    high=row[name] + 0.05,
                    method=name,
                    metric=metric,
                    environment="shapes",
                    rank=place[metric][name],
                )
                for metric, row in values.items()
            },
            None,
            MethodRemarks(),
        )
        for name in METHODS
    )
    pairs = {
        metric: frozenset(
            frozenset((left, right))
            for left in METHODS
            for right in METHODS
            if left < right and (metric, left, right) not in set(alike) and (metric, right, left) not in set(alike)
        )
        for metric in values
    }
    return Scene(Board("shapes", tuple(values), lines), metrics, methods, pairs if units else {}, "20 seeds")


def row(*values: float) -> dict[str, float]:
    return dict(zip(METHODS, values, strict=True))


TRUTH = row(0.9, 0.5, 0.3, 0.1)


def texts(found: Iterable[Finding]) -> list[str]:
    return [finding.text for finding in found]


def test_a_metric_that_puts_the_truth_upside_down_is_told_with_the_pair_that_shows_it_best() -> None:
    made = scene({"f1": TRUTH, "insertion": row(0.2, 0.9, 0.4, 0.1), "deletion": row(0.1, 0.2, 0.3, 0.4)})
    found = list(made.against_truth())
    assert [finding.rule for finding in found] == ["reversed", "kept"]
    assert found[0].text == (
        "In shapes, insertion (0.900 against 0.200) puts integrated_gradients before gradient. By the truth "
        "integrated_gradients is second (f1 0.500) and gradient first (0.900)."
    )
    assert {(score.metric, score.value) for score in found[0].scores} == {
        ("insertion", 0.9),
        ("insertion", 0.2),
        ("f1", 0.5),
        ("f1", 0.9),
    }
    assert found[1].text == "In shapes, deletion keeps the order of the truth wherever both separate two methods."


@pytest.mark.parametrize("metric", ["f1", "insertion"])
def test_a_reversal_that_one_side_does_not_separate_is_not_told(metric: str) -> None:
    alike = [(metric, left, right) for left in METHODS for right in METHODS]
    made = scene({"f1": TRUTH, "insertion": row(0.2, 0.9, 0.4, 0.1)}, alike)
    assert list(made.against_truth()) == []


def test_a_reversal_by_less_than_a_tenth_of_a_column_is_not_told() -> None:
    made = scene({"f1": TRUTH, "insertion": row(0.50, 0.51, 0.4, 0.1)})
    assert [finding.rule for finding in made.against_truth()] == ["kept"]


def test_without_tests_disjoint_intervals_decide() -> None:
    apart = scene({"f1": TRUTH, "insertion": row(0.2, 0.9, 0.4, 0.1)}, units=False)
    assert [finding.rule for finding in apart.against_truth()] == ["reversed"]
    overlapping = scene({"f1": TRUTH, "insertion": row(0.82, 0.9, 0.81, 0.1)}, units=False)
    assert "reversed" not in [finding.rule for finding in overlapping.against_truth()]


def test_a_score_that_is_equal_everywhere_has_an_interval_of_no_width() -> None:
    made = scene({"f1": TRUTH}, units=False)
    line = made.board.lines[0]
    equal = replace(line.cells["f1"], low=None, high=None, basis="equal")
    lines = (replace(line, cells={"f1": equal}), *made.board.lines[1:])
    fixed = made._replace(board=replace(made.board, lines=lines))
    assert texts(fixed.best()) == ["In shapes, gradient is first by f1, 0.900."]
    one_seed = (replace(line, cells={"f1": replace(equal, basis="one")}), *lines[1:])
    unknown = made._replace(board=replace(made.board, lines=one_seed))
    assert "separates no method" in texts(unknown.best())[0]


def test_who_is_first_is_told_with_those_that_are_not_separated() -> None:
    alone = scene({"f1": TRUTH})
    assert texts(alone.best()) == ["In shapes, gradient is first by f1, 0.900 [0.850, 0.950]."]
    shared = scene({"f1": TRUTH}, [("f1", "gradient", "lrp")])
    (text,) = texts(shared.best())
    assert text.endswith("; lrp is not separated from it.")
    nobody = scene({"f1": TRUTH}, [("f1", "gradient", name) for name in METHODS])
    assert texts(nobody.best()) == [
        "In shapes, f1 separates no method from the best one, gradient (0.900 [0.850, 0.950])."
    ]


def test_methods_that_cannot_be_separated_from_the_best_are_a_group_only_where_tests_could_separate() -> None:
    shared = [("f1", "gradient", "lrp")]
    (text,) = texts(scene({"f1": TRUTH}, shared).inseparable())
    assert text == "gradient and lrp cannot be separated by f1 in shapes (20 seeds)."
    assert not list(scene({"f1": TRUTH}).inseparable())
    assert not list(scene({"f1": TRUTH}, shared, units=False).inseparable())


def test_a_method_that_is_no_better_than_a_control_is_named() -> None:
    (text,) = texts(scene({"f1": row(0.9, 0.1, 0.3, 0.2)}).controls())
    assert text == "By f1, integrated_gradients (0.100) is no better than the control random_map (0.200) in shapes."
    assert not list(scene({"f1": TRUTH}).controls())


def test_a_metric_without_truth_is_held_against_none() -> None:
    assert not list(scene({"insertion": TRUTH, "deletion": TRUTH}).against_truth())


def verdict(method: str, value: float, width: float = 0.01, ceiling: float | None = None) -> Verdict:
    score = Score(
        value,
        method=method,
        metric="f1",
        environment="shapes",
        low=value - width,
        high=value + width,
        basis="seeds",
        per_seed=(value,) * 5,
        ceiling=ceiling,
    )
    return Verdict(method, 0.5, (Measured(Check("f1", 0.5), score, grid="4x4 grid"),))


def told(*verdicts: Verdict) -> dict[str, str]:
    methods = {
        one.method: Component(
            0, one.method, Spec(one.method), card("methods", one.method), {}, one.method == "random_map"
        )
        for one in verdicts
    }
    return {finding.rule: finding.text for finding in _verdicts(verdicts, methods)}


def test_refuted_methods_are_told_with_their_worst_check() -> None:
    found = told(verdict("gradient", 0.9), verdict("lrp", 0.2), verdict("random_map", 0.1))
    assert found == {
        "not refuted": "The truth does not refute gradient: at least 0.5 in every check.",
        "refuted": "It refutes lrp (f1 0.200) in shapes.",
    }


def test_a_control_that_passes_is_told() -> None:
    assert "does not refute random_map" in told(verdict("gradient", 0.9), verdict("random_map", 0.8))["controls"]


def test_what_no_map_reaches_refutes_nobody() -> None:
    found = told(verdict("gradient", 0.9), verdict("lrp", 0.2, ceiling=0.4))
    assert "refuted" not in found
    assert found["not testable"] == (
        "lrp cannot be tested in shapes: the best map of its 4x4 grid has f1 0.400, and 0.5 is asked for."
    )


def test_what_is_undecided_says_how_many_seeds_would_decide() -> None:
    found = told(verdict("gradient", 0.9), verdict("lrp", 0.48, width=0.06))
    # The interval is three times as wide as it may be: nine times five seeds, which is what would do.
    assert found["undecided"] == (
        "lrp is undecided: f1 0.480 [0.420, 0.540] in shapes, and 0.5 lies between. About 45 seeds would decide."
    )


def test_of_each_rule_the_first_is_kept_and_of_answers_all() -> None:
    found = [Finding("answer", "a"), Finding("zero", "b"), Finding("answer", "c"), Finding("zero", "d")]
    assert texts(foremost(found)) == ["a", "b", "c"]
