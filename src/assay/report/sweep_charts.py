"""Failure curves: the geometry of a sweep's charts. ``templates/sweep.html.j2`` turns it into SVG."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from assay.core.evidence import Score
from assay.report.axes import Axis, distinct_ends
from assay.report.charts import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Stroke, scale, strokes
from assay.report.components import by_label, components
from assay.report.loaded_run import LoadedRun
from assay.report.sweep import RunSweep, SweepLine, SweepTable, run_sweep

LOG_FROM = 20  # a logarithmic axis where the largest value is more than so many times the smallest
INSET = 14  # pixels between the frame and the first and last value
LETTER = 7  # pixels


@dataclass(frozen=True)
class ValueAxis:
    """The values of the parameter: numbers at their distance, all else at equal distances. Ticks are at the values."""

    positions: tuple[float, ...]
    texts: tuple[str, ...]
    log: bool
    start: float = LEFT
    stop: float = WIDTH - RIGHT

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Values whose texts do not overlap: the first, the last, and from left to right all others that fit."""
        first, *others = sorted(zip(self.positions, self.texts, strict=True))
        kept = [first]
        for position, text in [*others[-1:], *others[:-1]]:
            if all(abs(position - other) > LETTER * (1 + (len(text) + len(name)) / 2) for other, name in kept):
                kept.append((position, text))
        return sorted(kept)


@dataclass(frozen=True)
class Point:
    """A score with its interval, in pixels."""

    x: float
    y: float
    low: float | None
    high: float | None
    text: str  # which value it is at


@dataclass(frozen=True)
class Shape:
    """One line of a chart, broken where a score is missing."""

    labels: tuple[str, ...]  # several, where lines coincide
    stroke: Stroke
    level: bool
    pieces: tuple[tuple[Point, ...], ...]

    @property
    def polylines(self) -> list[str]:
        return [" ".join(f"{point.x},{point.y}" for point in piece) for piece in self.pieces]

    @property
    def _interval_runs(self) -> list[list[Point]]:
        """Neighbouring points that have intervals."""
        return [list(run) for piece in self.pieces for known, run in groupby(piece, _has_interval) if known]

    @property
    def whiskers(self) -> list[Point]:
        """Points whose interval is in no band, because their neighbours have none."""
        return [run[0] for run in self._interval_runs if len(run) == 1]

    @property
    def bands(self) -> list[str]:
        """Polygons around the intervals of neighbouring points."""
        return [
            " ".join(
                [f"{point.x},{point.low}" for point in run] + [f"{point.x},{point.high}" for point in reversed(run)]
            )
            for run in self._interval_runs
            if len(run) > 1
        ]

    @property
    def points(self) -> list[Point]:
        return [] if self.level else [point for piece in self.pieces for point in piece]


@dataclass(frozen=True)
class SweepChart:
    """A metric over the values of the parameter."""

    title: str
    x: ValueAxis
    y: Axis
    x_label: str
    y_label: str
    shapes: tuple[Shape, ...]
    gaps: tuple[str, ...]  # sentences
    width: int = WIDTH
    height: int = HEIGHT


@dataclass(frozen=True)
class SweepPanel:
    """The charts of one environment."""

    environment: str
    charts: tuple[SweepChart, ...]


def sweep_panels(loaded: LoadedRun) -> tuple[SweepPanel, ...]:
    if not loaded.result.has_sweep:
        return ()
    sweep = run_sweep(loaded.result)
    stroke_of, axis = _strokes(loaded, sweep), value_axis(sweep.values, sweep.texts)
    arrows = {label: metric.arrow for label, metric in by_label(loaded.run, "metrics").items()}
    for item in sweep.items:
        arrows.setdefault(item.label, arrows.get(item.copies[0], ""))
    charts: dict[str, list[SweepChart]] = {}
    for table in sweep.tables:
        chart = _chart(table, sweep, axis, stroke_of, f"{table.metric} {arrows[table.metric]}".strip())
        charts.setdefault(table.environment, []).append(chart)
    return tuple(SweepPanel(environment, tuple(panel)) for environment, panel in charts.items())


def value_axis(values: Sequence[Any], texts: tuple[str, ...]) -> ValueAxis:
    start, stop = LEFT + INSET, WIDTH - RIGHT - INSET
    numbers = [float(value) for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    if len(numbers) < len(values):
        return ValueAxis(
            tuple(Axis(0, len(values) - 1, start, stop)(place) for place in range(len(values))), texts, False
        )
    log = min(numbers) > 0 and max(numbers) > LOG_FROM * min(numbers)
    axis = Axis(*distinct_ends(min(numbers), max(numbers)), start, stop, log)
    return ValueAxis(tuple(map(axis, numbers)), texts, log)


def _strokes(loaded: LoadedRun, sweep: RunSweep) -> Mapping[str, Stroke]:
    """Of all methods; varied ones have one stroke, under the label without the value."""
    original = {}
    if sweep.of == "methods":
        original = {copy: item.label for item in sweep.items for copy in item.copies}
    methods = [
        replace(method, label=original.get(method.label, method.label)) for method in components(loaded.run, "methods")
    ]
    return strokes({method.label: method for method in methods}.values())


def _chart(
    table: SweepTable, sweep: RunSweep, axis: ValueAxis, stroke_of: Mapping[str, Stroke], title: str
) -> SweepChart:
    ends = scale(cell for line in table.lines for cell in line.cells) or Axis(0, 1, 0, 1)
    y_axis = Axis(ends.low, ends.high, HEIGHT - BOTTOM, TOP)
    drawn = [(line, tuple(pieces_of(line, axis, y_axis))) for line in table.lines]
    shapes = tuple(shapes_of([(line, pieces) for line, pieces in drawn if pieces], stroke_of))
    return SweepChart(title, axis, y_axis, sweep.label, table.metric, shapes, tuple(table.gaps(sweep.texts)))


def pieces_of(line: SweepLine, axis: ValueAxis, y_axis: Axis) -> Iterator[tuple[Point, ...]]:
    """Runs of neighbouring values, from left to right, that have a score. A level line reaches from side to side."""
    if line.level:
        ends = [_point(line.cells[0], x, "", y_axis) for x in (axis.start, axis.stop)]
        points: list[Point | None] = [*ends]
    else:
        order = sorted(range(len(line.cells)), key=lambda place: axis.positions[place])
        points = [_point(line.cells[place], axis.positions[place], axis.texts[place], y_axis) for place in order]
    for known, run in groupby(points, lambda point: point is not None):
        if known:
            yield tuple(point for point in run if point is not None)


def _point(cell: Score, x: float, text: str, y_axis: Axis) -> Point | None:
    if cell.value is None:
        return None
    low, high = (None if end is None else y_axis(end) for end in (cell.low, cell.high))
    return Point(x, y_axis(cell.value), low, high, f"{text}: {cell.value:.3g}")


def shapes_of(
    drawn: Sequence[tuple[SweepLine, tuple[tuple[Point, ...], ...]]], stroke_of: Mapping[str, Stroke]
) -> Iterator[Shape]:
    """Lines that coincide on every pixel become one."""
    together: dict[tuple[Any, ...], list[tuple[SweepLine, tuple[tuple[Point, ...], ...]]]] = {}
    for line, pieces in drawn:
        place = tuple(tuple((point.x, round(point.y)) for point in piece) for piece in pieces)
        together.setdefault((line.level, *place), []).append((line, pieces))
    for group in together.values():
        line, pieces = group[0]
        yield Shape(tuple(other.label for other, _ in group), stroke_of[line.method], line.level, pieces)


def _has_interval(point: Point) -> bool:
    return point.low is not None and point.high is not None
