"""Critical-difference diagrams: mean ranks of methods, and the groups that cannot be separated.

One row per method, best first; the groups are vertical bars at the right. ``templates/critical_differences.html.j2``
draws them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from assay.report.axes import Axis
from assay.report.board import Board
from assay.report.charts import Stroke
from assay.report.components import Component
from assay.report.text import counted, shortened
from assay.stats.comparison import Comparison, MeanRank
from assay.stats.friedman import FEWEST_METHODS

LABELS, RANKS, GROUP = 205, 270, 13  # widths
ROW = 21  # height
TOP, BOTTOM, MARGIN = 8, 40, 14


@dataclass(frozen=True)
class RankRow:
    """One method: its mean rank with its interval, in pixels."""

    rank: MeanRank
    label: str
    stroke: Stroke
    x: float
    low: float
    high: float
    y: float


@dataclass(frozen=True)
class GroupBar:
    """Methods that cannot be separated, in pixels."""

    methods: tuple[str, ...]
    x: float
    ys: tuple[float, ...]  # one per method, downwards


@dataclass(frozen=True)
class Diagram:
    """The diagram of one metric."""

    metric: Component
    axis: Axis
    rows: tuple[RankRow, ...]
    groups: tuple[GroupBar, ...]
    note: str
    width: int
    height: int


def diagrams(board: Board, metrics: Mapping[str, Component], stroke_of: Mapping[str, Stroke]) -> Iterator[Diagram]:
    """One per metric with mean ranks of three methods or more."""
    for metric, comparison in board.comparisons.items():
        if len(comparison.mean_ranks) >= FEWEST_METHODS:
            yield _diagram(metrics[metric], comparison, stroke_of)


def _diagram(metric: Component, comparison: Comparison, stroke_of: Mapping[str, Stroke]) -> Diagram:
    count = len(comparison.methods)
    axis = Axis(1, count, LABELS, LABELS + RANKS)
    y_of = {method: TOP + ROW * (index + 0.5) for index, method in enumerate(comparison.methods)}
    rows = tuple(
        RankRow(
            rank,
            shortened(rank.method),
            stroke_of[rank.method],
            axis(rank.mean),
            axis(rank.low),
            axis(rank.high),
            y_of[rank.method],
        )
        for rank in comparison.mean_ranks
    )
    groups = tuple(
        GroupBar(group, LABELS + RANKS + MARGIN + GROUP * (index + 0.5), tuple(y_of[method] for method in group))
        for index, group in enumerate(comparison.groups)
    )
    width = LABELS + RANKS + 2 * MARGIN + GROUP * len(groups)
    return Diagram(metric, axis, rows, groups, _note(comparison), width, TOP + ROW * count + BOTTOM)


def _note(comparison: Comparison) -> str:
    """The units, and Friedman's test."""
    text = counted(comparison.complete, comparison.unit.removesuffix("s"))
    if comparison.complete < comparison.units:
        text += f" of {comparison.units}: those in which all methods have a value"
    test = comparison.friedman
    return f"{text}; Friedman's test: p = {test.p:.2g}, Kendall's W = {test.agreement:.2f}" if test else text
