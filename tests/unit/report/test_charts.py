"""Geometry of charts: values at their positions, ends inside, round numbers as labels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.catalogue.cards import Card
from assay.core.evidence import Score
from assay.core.spec import Spec
from assay.report.axes import Axis, distinct_ends, round_ends, round_ticks
from assay.report.charts import COLOURS, Stroke, bar, dots, lines, scale, strokes
from assay.report.components import Component
from assay.report.text import counted, listed, number, seconds, shortened, slug

ends = st.tuples(*[st.floats(-1e6, 1e6, allow_nan=False)] * 2).map(sorted)


def method(index: int, control: bool = False) -> Component:
    return Component(index, f"m{index}", Spec("m"), Card("methods", "m", "m"), {}, control)


def cell(value: float, low: float | None, high: float | None) -> Score:
    return Score(value, low=low, high=high)


def test_an_axis_puts_its_ends_at_its_ends() -> None:
    axis = Axis(2.0, 4.0, 300.0, 100.0)
    assert [axis(value) for value in (2.0, 3.0, 4.0)] == [300, 200, 100]
    log = Axis(1.0, 100.0, 0.0, 10.0, log=True)
    assert [log(value) for value in (1.0, 10.0, 100.0)] == [0, 5, 10]
    assert log.ticks == [(0, "1"), (1.51, "2"), (3.49, "5"), (5, "10"), (6.51, "20"), (8.49, "50"), (10, "100")]


@given(ends)
def test_ticks_are_few_round_and_inside(pair: list[float]) -> None:
    low, high = distinct_ends(*pair)
    ticks = round_ticks(low, high)
    slack = 1e-6 * (high - low)
    assert 2 <= len(ticks) <= 6
    assert all(low - slack <= value <= high + slack for value in ticks)


@given(ends)
def test_a_widened_scale_holds_its_values_and_is_not_much_larger(pair: list[float]) -> None:
    low, high = round_ends(*pair)
    slack = 1e-5 * (high - low)
    assert low < high
    assert low <= pair[0] + slack
    assert high >= pair[1] - slack
    start, stop = distinct_ends(*pair)
    assert high - low <= 2.6 * (stop - start)


def test_bars_of_one_column_share_a_scale_and_stay_inside() -> None:
    cells = [cell(0.9, 0.8, 1.0), cell(0.2, 0.1, 0.3), cell(0.5, None, None), Score(None, status="skipped")]
    axis = scale(cells)
    bars = [bar(column_cell, axis) for column_cell in cells]
    assert bars[3] is None
    drawn = [drawn_bar for drawn_bar in bars if drawn_bar]
    assert all(0 <= drawn_bar.low <= drawn_bar.value <= drawn_bar.high <= drawn_bar.width for drawn_bar in drawn)
    assert drawn[0].value > drawn[2].value > drawn[1].value
    assert drawn[2].low == drawn[2].high == drawn[2].value
    assert all(drawn_bar.zero is not None and drawn_bar.zero < drawn[1].low for drawn_bar in drawn)
    assert scale([Score(None, status="failed")]) is None


def test_a_column_of_equal_values_can_still_be_drawn() -> None:
    axis = scale([cell(0.0, 0.0, 0.0)])
    drawn_bar = bar(cell(0.0, 0.0, 0.0), axis)
    assert drawn_bar is not None
    assert 0 <= drawn_bar.value <= drawn_bar.width


def test_methods_look_different_and_controls_are_grey() -> None:
    stroke_of = strokes([method(index, control=index in (1, 4)) for index in range(2 * COLOURS + 2)])
    assert len(set(stroke_of.values())) == len(stroke_of)
    assert {name for name, stroke in stroke_of.items() if stroke.colour == "control"} == {"m1", "m4"}
    assert stroke_of["m0"] == Stroke("c0", "")


def test_curves_that_coincide_share_a_line_coloured_by_a_method_that_is_no_control() -> None:
    stroke_of = strokes([method(0, control=True), method(1), method(2)])
    x = np.array([0.0, 0.5, 1.0])
    curves = {"m0": (x, x), "m1": (x, x + 1e-6), "m2": (x, x / 2)}
    chart = lines("t", curves, stroke_of, "x", "y")
    assert [line.methods for line in chart.lines] == [("m1", "m0"), ("m2",)]
    assert chart.lines[0].stroke.colour == "c0"
    points = [tuple(map(float, pair.split(","))) for pair in chart.lines[1].points.split()]
    assert points == [(chart.x(a), chart.y(a / 2)) for a in x]


def test_a_curve_over_magnitudes_gets_a_logarithmic_axis() -> None:
    stroke_of = strokes([method(0)])
    y = np.array([0.1, 0.2, 0.3])
    assert lines("t", {"m0": (np.array([1.0, 10.0, 100.0]), y)}, stroke_of, "x", "y").x.log
    assert not lines("t", {"m0": (np.array([0.0, 10.0, 100.0]), y)}, stroke_of, "x", "y").x.log


def test_dots_leave_out_what_has_no_value() -> None:
    stroke_of = strokes([method(0), method(1)])
    chart = dots(
        "t", {"m0": (0.1, cell(0.5, 0.4, 0.6)), "m1": (0.2, Score(None, status="skipped"))}, stroke_of, "x", "y"
    )
    assert chart is not None
    assert [dot.method for dot in chart.dots] == ["m0"]
    assert chart.dots[0].high < chart.dots[0].y < chart.dots[0].low  # up is up
    assert dots("t", {"m1": (0.2, Score(None, status="skipped"))}, stroke_of, "x", "y") is None


def test_dots_on_each_other_share_a_text() -> None:
    stroke_of = strokes([method(0), method(1), method(2)])
    points = {"m0": (1.0, cell(0.5, 0.5, 0.5)), "m1": (9.0, cell(0.1, 0.1, 0.1)), "m2": (1.01, cell(0.5, 0.5, 0.5))}
    chart = dots("t", points, stroke_of, "x", "y")
    assert chart is not None
    assert [(dot.method, text) for dot, text in chart.dot_numbers] == [("m0", "1, 3"), ("m1", "2")]


def test_the_ends_of_an_axis_are_ticks() -> None:
    axis = Axis(*round_ends(-0.02, 0.88), 0, 100)
    assert [text for _, text in axis.ticks] == ["-0.25", "0", "0.25", "0.5", "0.75", "1"]


def test_a_long_label_keeps_the_end_in_which_copies_differ() -> None:
    assert shortened("DeepSHAP, question.baseline=zero") == "DeepSHAP, qu…baseline=zero"
    assert shortened("a" * 26) == "a" * 26


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0.000"), (0.88888, "0.889"), (-0.0087, "-0.009"), (1e-5, "1.00e-05"), (123456.0, "1.23e+05")],
)
def test_numbers_never_round_to_nothing(value: float, text: str) -> None:
    assert number(value) == text


def test_words() -> None:
    assert [seconds(value) for value in (2.5, 0.0123, 0.0999, 5e-6, 0.0)] == ["2.5 s", "12 ms", "100 ms", "5 µs", "0 s"]
    assert [counted(value, "seed") for value in (0, 1, 2)] == ["0 seeds", "1 seed", "2 seeds"]
    assert [listed(words) for words in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == ["", "a", "a and b", "a, b and c"]
    assert slug("Größe <script>/../x") == "groe-script-x"
