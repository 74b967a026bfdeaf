"""The geometry of charts; ``templates/charts.html.j2`` turns it into SVG, so that all text is escaped in one place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from assay.report.axes import Axis, apart, widened
from assay.report.board import Cell
from assay.report.components import Component
from assay.report.reading import Curve

Curves = Mapping[str, Curve]  # by method

COLOURS = 8  # as many as style.css has
DASHES = ("", "7 3", "2 3", "9 3 2 3")
WIDTH, HEIGHT = 560, 300
LEFT, RIGHT, TOP, BOTTOM = 56, 14, 12, 46  # margins
BAR = 112  # width of an interval bar


@dataclass(frozen=True)
class Stroke:
    """How a method is drawn, everywhere alike."""

    colour: str  # a class of style.css
    dash: str


@dataclass(frozen=True)
class Line:
    """One line, and all methods whose curves it is."""

    methods: tuple[str, ...]
    stroke: Stroke
    points: str


@dataclass(frozen=True)
class Dot:
    """One method as a point with an interval."""

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


@dataclass(frozen=True)
class Bar:
    """An interval on the common scale of its column."""

    value: float
    low: float
    high: float
    zero: float | None  # where 0 lies, when it is inside
    width: int = BAR


def strokes(methods: Iterable[Component]) -> dict[str, Stroke]:
    """Colours in the order of the study, then dashes; controls are grey and always dashed."""
    found: dict[str, Stroke] = {}
    plain = grey = 0
    for method in methods:
        if method.control:
            found[method.label] = Stroke("control", DASHES[1 + grey % (len(DASHES) - 1)])
            grey += 1
        else:
            found[method.label] = Stroke(f"c{plain % COLOURS}", DASHES[plain // COLOURS % len(DASHES)])
            plain += 1
    return found


def scale(cells: Iterable[Cell]) -> Axis | None:
    """One scale for all intervals of a column; None when no cell has a value."""
    ends = [end for cell in cells for end in (cell.low, cell.value, cell.high) if end is not None]
    return Axis(*widened(min(ends), max(ends)), 4, BAR - 4) if ends else None


def bar(cell: Cell, axis: Axis | None) -> Bar | None:
    if axis is None or cell.value is None:
        return None
    low = cell.value if cell.low is None else cell.low
    high = cell.value if cell.high is None else cell.high
    return Bar(axis(cell.value), axis(low), axis(high), axis(0) if axis.low <= 0 <= axis.high else None)


def lines(title: str, curves: Curves, looks: Mapping[str, Stroke], x_label: str, y_label: str) -> Chart:
    """Curves by method as (x, y). Curves that cannot be told apart on paper become one line with all their names."""
    xs = np.concatenate([x for x, _ in curves.values()]).astype(np.float64)
    ys = np.concatenate([y for _, y in curves.values()]).astype(np.float64)
    log = bool(xs.min() > 0 and xs.max() / xs.min() >= 50)
    x_axis = Axis(*(apart(xs.min(), xs.max())), LEFT, WIDTH - RIGHT, log)
    y_axis = Axis(*widened(ys.min(), ys.max()), HEIGHT - BOTTOM, TOP)
    drawn = tuple(_line(names, curves, looks, x_axis, y_axis) for names in _merged(curves, looks, y_axis))
    return Chart(title, x_axis, y_axis, x_label, y_label, lines=drawn)


def dots(
    title: str, places: Mapping[str, tuple[float, Cell]], looks: Mapping[str, Stroke], x_label: str, y_label: str
) -> Chart | None:
    """Methods as (x > 0, cell) over a logarithmic x."""
    known = {name: (x, cell) for name, (x, cell) in places.items() if cell.value is not None and x > 0}
    column = scale(cell for _, cell in known.values())
    if column is None:
        return None
    xs = [x for x, _ in known.values()]
    x_axis = Axis(min(xs) / 1.6, max(xs) * 1.6, LEFT, WIDTH - RIGHT, log=True)
    y_axis = Axis(column.low, column.high, HEIGHT - BOTTOM, TOP)
    found = tuple(_dot(name, looks[name], x_axis(x), cell, y_axis) for name, (x, cell) in known.items())
    return Chart(title, x_axis, y_axis, x_label, y_label, dots=found)


def _line(names: tuple[str, ...], curves: Curves, looks: Mapping[str, Stroke], x_axis: Axis, y_axis: Axis) -> Line:
    x, y = curves[names[0]]
    return Line(names, looks[names[0]], " ".join(f"{x_axis(a)},{y_axis(b)}" for a, b in zip(x, y, strict=True)))


def _merged(curves: Curves, looks: Mapping[str, Stroke], axis: Axis) -> list[tuple[str, ...]]:
    """Names of curves that lie within a pixel of each other; controls come last, so that a method gives the colour."""
    pixel = abs((axis.high - axis.low) / (axis.stop - axis.start))
    groups: list[list[str]] = []
    for name in sorted(curves, key=lambda name: looks[name].colour == "control"):
        x, y = curves[name]
        for group in groups:
            first_x, first_y = curves[group[0]]
            if len(x) == len(first_x) and np.array_equal(x, first_x) and np.abs(y - first_y).max() < pixel:
                group.append(name)
                break
        else:
            groups.append([name])
    return [tuple(group) for group in groups]


def _dot(method: str, stroke: Stroke, x: float, cell: Cell, axis: Axis) -> Dot:
    assert cell.value is not None
    low = cell.value if cell.low is None else cell.low
    high = cell.value if cell.high is None else cell.high
    return Dot(method, stroke, x, axis(cell.value), axis(low), axis(high))
