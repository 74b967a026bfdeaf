"""Slope charts: two rankings side by side, and a line for each method from one to the other.

A column has a line of text for each place. Methods that tie share their average rank: a bar joins their names, and
their lines end at its middle.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from assay.report.charts import Stroke, family_strokes
from assay.report.components import components
from assay.report.loaded_run import LoadedRun
from assay.report.slopes import SlopeRow, SlopeTable
from assay.report.text import number, shortened
from assay.stats.ranks import rank_label

LETTER = 7.3  # pixels
MIDDLE = 100  # width between the columns
HEAD, ROW, BOTTOM = 30, 20, 6  # heights
MOST = 18  # letters of a name


@dataclass(frozen=True)
class Name:
    """A method in a column."""

    method: str
    label: str  # the method, where it is long shortened
    text: str
    x: float
    y: float
    anchor: str  # start, end


@dataclass(frozen=True)
class SlopeLine:
    """One method."""

    method: str
    stroke: Stroke
    points: str
    ends: tuple[tuple[float, float], ...]
    moves: bool
    text: str


@dataclass(frozen=True)
class Tie:
    """Names that share a rank."""

    x: float
    low: float
    high: float


@dataclass(frozen=True)
class SlopeChart:
    """Two rankings."""

    title: str
    heads: tuple[Name, ...]
    names: tuple[Name, ...]
    ties: tuple[Tie, ...]
    lines: tuple[SlopeLine, ...]
    families: tuple[tuple[str, Stroke], ...]
    width: int
    height: int


@dataclass(frozen=True)
class SlopeSection:
    """A table of moves with its pictures."""

    table: SlopeTable
    charts: tuple[SlopeChart, ...]


def slope_sections(loaded: LoadedRun) -> tuple[SlopeSection, ...]:
    methods = components(loaded.run, "methods")
    stroke_of, family_of = family_strokes(methods), {method.label: method.family for method in methods}
    return tuple(
        SlopeSection(
            table, tuple(slope_chart(row, stroke_of, family_of) for row in table.rows if row.slope.moves is not None)
        )
        for table in loaded.result.slopes
    )


def slope_chart(row: SlopeRow, stroke_of: Mapping[str, Stroke], family_of: Mapping[str, str]) -> SlopeChart:
    ranks, methods = row.slope.ranks, row.slope.methods
    heads = tuple(shortened(name) for name in (row.asked.left, row.asked.right))
    columns = [sorted(methods, key=lambda name: (ranks[name][side], ranks[name][1 - side])) for side in (0, 1)]
    texts = {(name, side): _name(row, name, side) for name in methods for side in (0, 1)}
    side_width = round(LETTER * max(map(len, (*heads, *texts.values())))) + 8
    xs = (side_width, side_width + MIDDLE)
    anchors, steps = ("end", "start"), (-8, 8)
    names = tuple(
        Name(name, shortened(name, MOST), texts[name, side], xs[side] + steps[side], _y(place), anchors[side])
        for side in (0, 1)
        for place, name in enumerate(columns[side], 1)
    )
    families = {family: stroke_of[name] for name, family in family_of.items() if family and name in methods}
    return SlopeChart(
        f"{row.name}: {row.asked.left} against {row.asked.right}",
        tuple(Name("", "", head, xs[side] + steps[side], 14, anchors[side]) for side, head in enumerate(heads)),
        names,
        tuple(
            tie
            for side in (0, 1)
            for tie in _ties(xs[side] + steps[side] / 4, [ranks[name][side] for name in columns[side]])
        ),
        tuple(_line(name, ranks[name], xs, stroke_of[name]) for name in methods),
        tuple(families.items()),
        2 * side_width + MIDDLE,
        HEAD + ROW * len(methods) + BOTTOM,
    )


def _y(rank: float) -> float:
    return HEAD + ROW * (rank - 0.5)


def _name(row: SlopeRow, method: str, side: int) -> str:
    """``Grad-CAM 0.235 #1``, turned round on the right."""
    ranks = [both[side] for both in row.slope.ranks.values()]
    score = row.scores[method][side].value
    assert score is not None
    parts = [shortened(method, MOST), number(score), f"#{rank_label(row.slope.ranks[method][side], ranks)}"]
    return " ".join(parts if side == 0 else reversed(parts)).replace("-0.", "−0.")


def _line(method: str, ranks: Sequence[float], xs: Sequence[float], stroke: Stroke) -> SlopeLine:
    ends = tuple((x, _y(rank)) for x, rank in zip(xs, ranks, strict=True))
    text = f"{method}: rank {ranks[0]:g} on the left, {ranks[1]:g} on the right"
    return SlopeLine(method, stroke, " ".join(f"{x},{y}" for x, y in ends), ends, ranks[0] != ranks[1], text)


def _ties(x: float, ranks: Sequence[float]) -> Iterator[Tie]:
    for rank in dict.fromkeys(ranks):
        half = (ranks.count(rank) - 1) / 2
        if half:
            yield Tie(x, _y(rank - half) - 6, _y(rank + half) + 6)
