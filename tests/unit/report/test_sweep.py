"""A sweep's tables and charts: every score at its value, references as level lines, gaps never joined."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from assay.core.evidence import Score
from assay.core.records import Record
from assay.report.axes import Axis
from assay.report.board import Board, Line, Result
from assay.report.charts import LEFT, RIGHT, WIDTH, Stroke
from assay.report.sweep import SweepLine, SweepTable, run_sweep
from assay.report.sweep_charts import Shape, ValueAxis, pieces_of, shapes_of, value_axis


def ok(value: float, spread: float | None = 0.1) -> Score:
    return Score(value) if spread is None else Score(value, low=value - spread, high=value + spread)


def labelled(score: Score, environment: str, method: str, metric: str) -> Score:
    return replace(score, environment=environment, method=method, metric=metric)


def result(of: str, items: dict[str, list[str]], cells: dict[tuple[str, str, str], Score], values: list[Any]) -> Result:
    kinds = {
        kind: [{"label": label, "spec": "x"} for label in dict.fromkeys(key[place] for key in cells)]
        for place, kind in enumerate(("environments", "methods", "metrics"))
    }
    sweep = {
        "of": of,
        "parameter": "p",
        "label": "P",
        "values": values,
        "items": [{"label": label, "copies": copies} for label, copies in items.items()],
    }
    boards = []
    for environment in (entry["label"] for entry in kinds["environments"]):
        methods = dict.fromkeys(method for place, method, _ in cells if place == environment)
        lines = [
            Line(
                name,
                {key[2]: labelled(cell, *key) for key, cell in cells.items() if key[:2] == (environment, name)},
                None,
            )
            for name in methods
        ]
        boards.append(Board(environment, tuple(lines[0].cells), tuple(lines)))
    return Result(
        Record("run", "r", "ok", data={"study": {"name": "s", **kinds, "sweep": sweep}}), tuple(boards), {}, {}
    )


def test_a_varied_environment_has_a_table_per_metric_with_others_as_level_lines() -> None:
    cells = {("e, p=1", "m", "F"): ok(0.1), ("e, p=2", "m", "F"): ok(0.2), ("other", "m", "F"): ok(0.3)}
    sweep = run_sweep(result("environments", {"e": ["e, p=1", "e, p=2"]}, cells, [1, 2]))
    (table,) = sweep.tables
    assert (table.environment, table.metric) == ("e", "F")
    assert [(line.label, [cell.value for cell in line.cells], line.level) for line in table.lines] == [
        ("m", [0.1, 0.2], False),
        ("m in other", [0.3, 0.3], True),
    ]


def test_a_varied_method_has_a_table_per_environment() -> None:
    cells = {
        (environment, method, "F"): ok(value)
        for environment in ("a", "b")
        for method, value in (("m, p=1", 0.1), ("m, p=2", 0.2), ("plain", 0.5))
    }
    sweep = run_sweep(result("methods", {"m": ["m, p=1", "m, p=2"]}, cells, [1, 2]))
    assert [table.environment for table in sweep.tables] == ["a", "b"]
    assert [(line.label, line.level) for line in sweep.tables[1].lines] == [("m", False), ("plain", True)]


def test_a_varied_metric_has_one_table_and_other_metrics_none() -> None:
    cells = {("a", "m", metric): ok(value) for metric, value in (("F, p=1", 0.1), ("F, p=2", 0.2), ("other", 0.9))}
    sweep = run_sweep(result("metrics", {"F": ["F, p=1", "F, p=2"]}, cells, [1, 2]))
    ((table),) = sweep.tables
    assert (table.metric, [line.label for line in table.lines]) == ("F", ["m"])


def test_a_run_without_a_sweep_has_none() -> None:
    study = {"name": "s", "environments": [], "methods": [], "metrics": []}  # as older runs, which have no such key
    assert not Result(Record("run", "r", "ok", data={"study": study}), (), {}, {}).has_sweep


def test_a_gap_has_a_sentence_with_its_reason() -> None:
    cells = (
        ok(0.1),
        Score(None, status="skipped", reason="needs trees"),
        Score(None, reason="undefined on all 4 samples"),
    )
    told = SweepTable("e", "F", (SweepLine("m", "m", cells),)).gaps(["1", "2", "3"])
    assert told == ["m has no score at 2 (skipped: needs trees)", "m has no score at 3 (undefined on all 4 samples)"]
    whole = SweepTable("e", "F", (SweepLine("m", "m", (Score(None, status="failed", reason="boom"),) * 2),)).gaps(
        ["1", "2"]
    )
    assert whole == ["m has no score (failed: boom)"]


@pytest.mark.parametrize(
    ("values", "log", "even"),
    [
        ([1, 10, 100], True, True),
        ([1, 2, 20], False, False),
        ([0, 50, 100], False, True),
        ([-1, 0, 100], False, False),
        ([True, False], False, True),
        (["a", "b", "c"], False, True),
        ([1, "torch", 100], False, True),
        ([[3, 6], [6, 9], [9, 18]], False, True),
    ],
)
def test_numbers_lie_at_their_distance_and_all_else_at_equal_distances(
    values: list[Any], log: bool, even: bool
) -> None:
    axis = value_axis(values, tuple(map(str, values)))
    steps = [b - a for a, b in zip(axis.positions, axis.positions[1:], strict=False)]
    assert axis.log is log
    assert (max(steps) - min(steps) < 0.1) is even
    assert LEFT < axis.positions[0] < axis.positions[-1] < WIDTH - RIGHT


def test_ticks_do_not_overlap() -> None:
    axis = value_axis([0, 18, 19, 19.5, 20, 40], ("0", "18", "19", "19.5", "20", "40"))
    assert [text for _, text in axis.ticks] == ["0", "18", "20", "40"]
    crowded = ValueAxis((0.0, 80.0, 100.0), ("1", "5000", "10000"), False)
    assert [text for _, text in crowded.ticks] == ["1", "10000"]  # the last value has its text


def test_a_line_is_broken_at_a_gap_and_ordered_by_value() -> None:
    axis = value_axis([100, 1, 10, 1000], ("100", "1", "10", "1000"))
    missing = Score(None, status="failed", reason="boom")
    line = SweepLine("m", "m", (missing, ok(0.1), ok(0.2), ok(0.4)))
    pieces = tuple(pieces_of(line, axis, Axis(0, 1, 300, 0)))
    assert [[point.text for point in piece] for piece in pieces] == [["1: 0.1", "10: 0.2"], ["1000: 0.4"]]
    shape = Shape(("m",), Stroke("c0", ""), False, pieces)
    assert len(shape.polylines) == 2
    assert len(shape.bands) == 1  # a single point has no band, but a whisker
    assert [point.text for point in shape.whiskers] == ["1000: 0.4"]


def test_a_band_ends_where_there_is_no_interval() -> None:
    axis = value_axis([1, 2, 3, 4], ("1", "2", "3", "4"))
    line = SweepLine("m", "m", (ok(0.1), ok(0.2), ok(0.3, None), ok(0.4)))
    shape = Shape(("m",), Stroke("c0", ""), False, tuple(pieces_of(line, axis, Axis(0, 1, 300, 0))))
    assert len(shape.polylines) == 1
    (band,) = shape.bands
    assert len(band.split()) == 4
    assert len(shape.whiskers) == 1


def test_lines_on_the_same_pixels_are_one_and_a_level_line_is_no_curve() -> None:
    axis = ValueAxis((100.0, 200.0), ("1", "2"), False)
    lines = [SweepLine(name, "m", (ok(0.5), ok(0.5)), name == "level") for name in ("a", "b", "level")]
    drawn = [(line, tuple(pieces_of(line, axis, Axis(0, 1, 300, 0)))) for line in lines]
    shapes = list(shapes_of(drawn, {"m": Stroke("c0", "")}))
    assert [(shape.labels, shape.level) for shape in shapes] == [(("a", "b"), False), (("level",), True)]
    assert [point.x for point in shapes[1].pieces[0]] == [LEFT, WIDTH - RIGHT]
    assert shapes[1].points == []
