"""Violins: how a metric's values per sample are distributed, one shape per method.

The three bars are the largest value, the mean and the smallest, as in AttributionLab's figures 17, 22 and 23. The shape
is a Gaussian kernel density between the smallest and the largest value (bandwidth by Scott's rule).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.core.evidence import Evidence
from assay.report.axes import Axis, round_ends
from assay.report.board import Board
from assay.report.charts import Stroke, strokes
from assay.report.components import Component, by_label, components
from assay.report.loaded_run import LoadedRun
from assay.report.text import shortened

POINTS = 32  # along a violin
LABELS, VALUES = 205, 315  # widths
ROW = 30  # height of a method
HALF = 12  # of a violin's thickness
TOP, BOTTOM, MARGIN = 8, 30, 14

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Violin:
    """The values of one method, in pixels."""

    method: str
    label: str
    stroke: Stroke
    y: float
    outline: str  # points of the shape; empty if all values are equal
    low: float
    mean: float
    high: float
    text: str


@dataclass(frozen=True)
class Violins:
    """The distributions of one metric's values over samples."""

    metric: Component
    axis: Axis
    rows: tuple[Violin, ...]
    width: int
    height: int


@dataclass(frozen=True)
class Panel:
    """The violins of one environment."""

    environment: str
    charts: tuple[Violins, ...]


def violin_panels(loaded: LoadedRun) -> tuple[Panel, ...]:
    """Of all metrics that compare with truth and have a value per sample."""
    stroke_of = strokes(components(loaded.run, "methods"))
    panels = (Panel(board.environment, tuple(_charts(loaded, board, stroke_of))) for board in loaded.result.boards)
    return tuple(panel for panel in panels if panel.charts)


def _charts(loaded: LoadedRun, board: Board, stroke_of: Mapping[str, Stroke]) -> Iterator[Violins]:
    metrics = by_label(loaded.run, "metrics")
    for metric in (metric for metric in board.metrics if "truth" in metrics[metric].card.fact("needs", ())):
        values = {line.method: sample_values(loaded, board.environment, line.method, metric) for line in board.lines}
        drawable = {method: row for method, row in values.items() if len(row)}
        if drawable:
            yield violins(metrics[metric], drawable, stroke_of)


def sample_values(loaded: LoadedRun, environment: str, method: str, metric: str) -> Numbers:
    """The values of all samples of all seeds on which the metric is defined; empty for one without them."""
    parts = []
    for series in loaded.series(environment, method):
        for start, record in loaded.outcomes(series, metric):
            if record is None or record.kind != "evidence" or record.status != "ok":
                continue
            evidence = Evidence.from_arrays(loaded.store.load(record))
            evidence = evidence.take(slice(0, max(0, series["samples"] - start)))
            if "value" in evidence.rows:
                parts.append(evidence["value"][evidence.defined].astype(np.float64))
    return np.concatenate(parts) if parts else np.zeros(0)


def violins(metric: Component, values: Mapping[str, Numbers], stroke_of: Mapping[str, Stroke]) -> Violins:
    ends = [float(end) for row in values.values() for end in (row.min(), row.max())]
    axis = Axis(*round_ends(min(ends), max(ends)), LABELS, LABELS + VALUES)
    rows = tuple(
        _violin(index, method, row, stroke_of[method], axis) for index, (method, row) in enumerate(values.items())
    )
    return Violins(metric, axis, rows, LABELS + VALUES + MARGIN, TOP + ROW * len(rows) + BOTTOM)


def _violin(index: int, method: str, values: Numbers, stroke: Stroke, axis: Axis) -> Violin:
    y = TOP + ROW * (index + 0.5)
    low, mean, high = float(values.min()), float(values.mean()), float(values.max())
    text = f"{method}: smallest {low:.3f}, mean {mean:.3f}, largest {high:.3f}, {len(values)} values"
    return Violin(
        method, shortened(method), stroke, y, _outline(values, axis, y), axis(low), axis(mean), axis(high), text
    )


def _outline(values: Numbers, axis: Axis, y: float) -> str:
    at = density_points(values)
    if not len(at):
        return ""
    thickness = density(values, at)
    offsets = HALF * thickness / thickness.max()
    upper = [(axis(x), round(y - offset, 2)) for x, offset in zip(at, offsets, strict=True)]
    lower = [(axis(x), round(y + offset, 2)) for x, offset in zip(at, offsets, strict=True)]
    return " ".join(f"{x},{height}" for x, height in [*upper, *reversed(lower)])


def density_points(values: Numbers) -> Numbers:
    """Where a density is drawn; nowhere if all values are equal up to rounding."""
    spread = float(np.ptp(values))
    if spread <= 1e-6 * max(1e-12, float(np.abs(values).max())):
        return np.zeros(0)
    return np.linspace(values.min(), values.max(), POINTS)


def density(values: Numbers, at: Sequence[float] | Numbers) -> Numbers:
    """A Gaussian kernel density, not normalised, with the bandwidth of Scott's rule."""
    bandwidth = values.std(ddof=1) * len(values) ** (-1 / 5)
    distances = (np.asarray(at)[:, None] - values[None, :]) / bandwidth
    return np.asarray(np.exp(-0.5 * distances**2).sum(axis=1))
