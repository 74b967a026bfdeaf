"""The geometry of charts. ``templates/charts.html.j2`` turns it into SVG, so that one template escapes all text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.core.evidence import Score
from assay.report.axes import Axis, distinct_ends, round_ends
from assay.report.components import Component
from assay.report.loaded_run import Curve

Curves = Mapping[str, Curve]  # by method

COLOURS = 8  # as many as style.css has
DASHES = ("", "7 3", "2 3", "9 3 2 3")
WIDTH, HEIGHT = 560, 300
LEFT, RIGHT, TOP, BOTTOM = 56, 14, 12, 46  # margins
BAR = 112  # width of an interval bar
NEAR = 9  # pixels: the numbers of dots that are closer would overlap


@dataclass(frozen=True)
class Stroke:
    """Colour and dash of a method, the same in all charts."""

    colour: str  # a class of style.css
    dash: str


@dataclass(frozen=True)
class Line:
    """One line of a chart, with all methods whose curves coincide in it."""

    methods: tuple[str, ...]
    stroke: Stroke
    points: str


@dataclass(frozen=True)
class Dot:
    """One method as a point with its interval."""

    method: str
    stroke: Stroke
    x: float
    y: float
    low: float
    high: float


@dataclass(frozen=True)
class Chart:
    """Lines or dots between two axes."""

    title: str
    x: Axis
    y: Axis
    x_label: str
    y_label: str
    lines: tuple[Line, ...] = ()
    dots: tuple[Dot, ...] = ()
    width: int = WIDTH
    height: int = HEIGHT

    @property
    def dot_numbers(self) -> list[tuple[Dot, str]]:
        """The numbers of the dots, from 1. Dots that lie on each other share a text, at the first of them."""
        groups: dict[Dot, list[str]] = {}
        for number, dot in enumerate(self.dots, 1):
            near = (other for other in groups if max(abs(other.x - dot.x), abs(other.y - dot.y)) < NEAR)
            groups.setdefault(next(near, dot), []).append(str(number))
        return [(dot, ", ".join(numbers)) for dot, numbers in groups.items()]


@dataclass(frozen=True)
class Bar:
    """A value with its interval, in pixels on the scale that its column shares."""

    value: float
    low: float
    high: float
    zero: float | None  # the position of 0, when the scale includes it
    width: int = BAR


def strokes(methods: Iterable[Component]) -> dict[str, Stroke]:
    """By method label: colours in the order of the study, then dashes; controls are grey and always dashed."""
    stroke_of: dict[str, Stroke] = {}
    coloured = control_count = 0
    for method in methods:
        if method.control:
            stroke_of[method.label] = Stroke("control", DASHES[1 + control_count % (len(DASHES) - 1)])
            control_count += 1
        else:
            stroke_of[method.label] = Stroke(f"c{coloured % COLOURS}", DASHES[coloured // COLOURS % len(DASHES)])
            coloured += 1
    return stroke_of


def family_strokes(methods: Sequence[Component]) -> dict[str, Stroke]:
    """By method label: the colour of its family, in the order of the study. As ``strokes`` if no method has one."""
    families = [family for family in dict.fromkeys(method.family for method in methods) if family]
    if not families:
        return strokes(methods)
    by_family = {
        family: Stroke(f"c{place % COLOURS}", DASHES[place // COLOURS % len(DASHES)])
        for place, family in enumerate(families)
    }
    return {method.label: by_family.get(method.family, Stroke("control", "")) for method in methods}


def scale(cells: Iterable[Score]) -> Axis | None:
    """One scale for all intervals of a column; None when no cell has a value."""
    ends = [end for cell in cells for end in (cell.low, cell.value, cell.high) if end is not None]
    return Axis(*round_ends(min(ends), max(ends)), 4, BAR - 4) if ends else None


def bar(cell: Score, axis: Axis | None) -> Bar | None:
    if axis is None or cell.value is None:
        return None
    low = cell.value if cell.low is None else cell.low
    high = cell.value if cell.high is None else cell.high
    return Bar(axis(cell.value), axis(low), axis(high), axis(0) if axis.low <= 0 <= axis.high else None)


def lines(title: str, curves: Curves, stroke_of: Mapping[str, Stroke], x_label: str, y_label: str) -> Chart:
    """A chart of curves (x, y). Curves within a pixel of each other become one line with all their methods."""
    xs = np.concatenate([x for x, _ in curves.values()]).astype(np.float64)
    ys = np.concatenate([y for _, y in curves.values()]).astype(np.float64)
    log = bool(xs.min() > 0 and xs.max() / xs.min() >= 50)
    x_axis = Axis(*(distinct_ends(xs.min(), xs.max())), LEFT, WIDTH - RIGHT, log)
    y_axis = Axis(*round_ends(ys.min(), ys.max()), HEIGHT - BOTTOM, TOP)
    drawn = tuple(_line(names, curves, stroke_of, x_axis, y_axis) for names in _coinciding(curves, stroke_of, y_axis))
    return Chart(title, x_axis, y_axis, x_label, y_label, lines=drawn)


def dots(
    title: str, points: Mapping[str, tuple[float, Score]], stroke_of: Mapping[str, Stroke], x_label: str, y_label: str
) -> Chart | None:
    """A chart of points (x > 0, cell) by method, with a logarithmic x axis; None when no cell has a value."""
    drawable = {name: (x, cell) for name, (x, cell) in points.items() if cell.value is not None and x > 0}
    value_axis = scale(cell for _, cell in drawable.values())
    if value_axis is None:
        return None
    xs = [x for x, _ in drawable.values()]
    x_axis = Axis(min(xs) / 1.6, max(xs) * 1.6, LEFT, WIDTH - RIGHT, log=True)
    y_axis = Axis(value_axis.low, value_axis.high, HEIGHT - BOTTOM, TOP)
    drawn = tuple(_dot(name, stroke_of[name], x_axis(x), cell, y_axis) for name, (x, cell) in drawable.items())
    return Chart(title, x_axis, y_axis, x_label, y_label, dots=drawn)


def _line(names: tuple[str, ...], curves: Curves, stroke_of: Mapping[str, Stroke], x_axis: Axis, y_axis: Axis) -> Line:
    x, y = curves[names[0]]
    return Line(names, stroke_of[names[0]], " ".join(f"{x_axis(a)},{y_axis(b)}" for a, b in zip(x, y, strict=True)))


def _coinciding(curves: Curves, stroke_of: Mapping[str, Stroke], axis: Axis) -> list[tuple[str, ...]]:
    """Groups of methods whose curves lie within a pixel. Controls come last, so that a method sets the colour."""
    pixel = abs((axis.high - axis.low) / (axis.stop - axis.start))
    groups: list[list[str]] = []
    for name in sorted(curves, key=lambda name: stroke_of[name].colour == "control"):
        x, y = curves[name]
        for group in groups:
            first_x, first_y = curves[group[0]]
            if len(x) == len(first_x) and np.array_equal(x, first_x) and np.abs(y - first_y).max() < pixel:
                group.append(name)
                break
        else:
            groups.append([name])
    return [tuple(group) for group in groups]


def _dot(method: str, stroke: Stroke, x: float, cell: Score, axis: Axis) -> Dot:
    assert cell.value is not None
    low = cell.value if cell.low is None else cell.low
    high = cell.value if cell.high is None else cell.high
    return Dot(method, stroke, x, axis(cell.value), axis(low), axis(high))
