"""Which methods of a run change their rank between two columns, from its boards and its evidence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.core.evidence import Score
from assay.core.records import Record
from assay.engine.store.protocol import RunStore
from assay.report.agreements import left_out_notes, why_without
from assay.report.components import by_label
from assay.report.sample_values import seed_values, series_of
from assay.report.text import counted, listed, number
from assay.stats.slope import RESAMPLES, Column, Moves, Numbers, Slope, moves_by_resampling, slope
from assay.studies.study import Slope as Asked
from assay.studies.study import Study

if TYPE_CHECKING:
    from assay.report.board import Board

Place = tuple[str, str]  # labels of an environment and of a metric
Cells = Mapping[tuple[str, str], Mapping[str, Score]]  # by environment and method, then by metric
HEADS = ("methods that change rank", "without coinciding ones", "by resampling samples alone", "rank correlation")


@dataclass(frozen=True)
class SlopeRow:
    """Two columns side by side."""

    environment: str  # in which metrics are compared; "": environments are
    metric: str  # by which environments are compared; "": metrics are
    asked: Asked
    scores: Mapping[str, tuple[Score, ...]]  # left and right, by method
    slope: Slope
    by_resampling: Moves
    left_out: Mapping[str, str]  # methods without a value on one side, and why

    @property
    def name(self) -> str:
        return self.environment or self.metric

    @property
    def texts(self) -> tuple[str, ...]:
        """A text for each of ``HEADS``."""
        found, drawn = self.slope, self.by_resampling
        if found.moves is None or found.moves_without_coinciding is None:
            return (found.reason, "", "", "")
        seeds = f" (mean of {counted(len(found.moves_per_seed), 'seed')}: {found.mean_moves:.1f})"
        different = len(found.methods) - sum(len(group) - 1 for group in found.coinciding)
        return (
            f"{found.moves} of {len(found.methods)}{seeds if len(found.moves_per_seed) > 1 else ''}",
            f"{found.moves_without_coinciding} of {different}",
            drawn.reason if drawn.value is None else f"{drawn.value:.1f} [{drawn.low:g}, {drawn.high:g}]",
            "all methods tie" if found.correlation is None else number(found.correlation),
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "environment": self.environment,
            "metric": self.metric,
            **{name: getattr(self.asked, name) for name in ("left", "right", "suffix")},
            **vars(self.slope),
            "mean_moves": self.slope.mean_moves,
            "moves_by_resampling": {**vars(self.by_resampling), "resamples": RESAMPLES},
            "left_out": dict(self.left_out),
        }


@dataclass(frozen=True)
class SlopeTable:
    """Two columns that a study sets side by side: a row for each environment, or for each metric."""

    asked: Asked
    rows: tuple[SlopeRow, ...]

    @property
    def title(self) -> str:
        of = f" (of “METHOD{self.asked.suffix}”)" if self.asked.suffix else ""
        methods = counted(len(self.asked.methods), "method")
        return f"Ranks of {methods}: {self.asked.left} against {self.asked.right}{of}"

    @property
    def heads(self) -> tuple[str, ...]:
        return ("environment" if self.asked.of == "metrics" else "metric", *HEADS)

    def notes(self) -> Iterator[str]:
        """What the numbers are, which methods coincide, and which are not in them."""
        yield f"methods: {listed(self.asked.methods)}"
        yield (
            f"by resampling: how many methods change rank from {self.asked.left} to the same column on resamples of "
            f"its samples; mean and 95 % range of {RESAMPLES:,} resamples"
        )
        if any(len(row.slope.moves_per_seed) > 1 for row in self.rows):
            yield "ranks of scores averaged over seeds; in parentheses the mean of what each seed by itself gives"
        groups: dict[str, list[str]] = {}
        for row in self.rows:
            for group in row.slope.coinciding:
                groups.setdefault(" = ".join(group), []).append(row.name)
        for names, rows in groups.items():
            word = "in" if self.asked.of == "metrics" else "by"
            extent = "everywhere" if len(rows) == len(self.rows) else f"{word} {listed(rows)}"
            yield f"coinciding {extent} (scores printed alike on both sides): {names}"
        yield from left_out_notes([(row.name, row.left_out) for row in self.rows])


def slope_tables(
    run: Record, study: Study, store: RunStore, boards: Sequence[Board], records: Mapping[str, Record]
) -> tuple[SlopeTable, ...]:
    """The columns that the study sets side by side, in its order."""
    metrics = by_label(run, "metrics")
    ranking = [name for name, metric in metrics.items() if metric.ranks_methods]
    cells = {(board.environment, line.method): line.cells for board in boards for line in board.lines}
    tables = []
    for asked in study.slope:
        rows = []
        for places in _places(asked, boards, ranking):
            row = _row(asked, places, cells, [bool(metrics[metric].higher_is_better) for _, metric in places])
            firsts = [row.scores[name][0] for name in row.slope.methods]
            per_seed = _per_seed(run, store, records, firsts) if row.slope.moves is not None else []
            drawn = moves_by_resampling(per_seed, study.data_seed is not None) if per_seed else row.by_resampling
            rows.append(replace(row, by_resampling=drawn))
        tables.append(SlopeTable(asked, tuple(rows)))
    return tuple(tables)


def _places(asked: Asked, boards: Sequence[Board], ranking: Sequence[str]) -> Iterator[tuple[Place, Place]]:
    """The columns left and right of each row."""
    has = {board.environment: [name for name in board.metrics if name in ranking] for board in boards}
    if asked.of == "environments":
        common = [name for name in has[asked.left] if name in has[asked.right]]
        yield from (((asked.left, name), (asked.right, name)) for name in common)
    else:
        common = [name for name, metrics in has.items() if asked.left in metrics and asked.right in metrics]
        yield from (((name, asked.left), (name, asked.right)) for name in common)


def _row(asked: Asked, places: tuple[Place, Place], cells: Cells, higher_is_better: Sequence[bool]) -> SlopeRow:
    (environment, metric), of_metrics = places[0], asked.of == "metrics"
    found: dict[str, tuple[Score, ...]] = {}
    left_out: dict[str, str] = {}
    for name in asked.methods:
        pairs = zip(places, (name, name + asked.suffix), strict=True)
        scores = tuple(cells[place, method][by] for (place, by), method in pairs if (place, method) in cells)
        if len(scores) == 2 and all(score.value is not None for score in scores):
            found[name] = scores
        else:
            left_out[name] = why_without(scores) if len(scores) == 2 else "not run here"
    left, right = (
        Column({name: scores[side] for name, scores in found.items()}, higher_is_better[side]) for side in (0, 1)
    )
    computed = slope(left, right, number)
    return SlopeRow(
        environment if of_metrics else "",
        "" if of_metrics else metric,
        asked,
        found,
        computed,
        Moves(None, reason="no values per sample"),
        {**left_out, **{name: "undefined in some seeds" for name in found if name not in computed.methods}},
    )


def _per_seed(run: Record, store: RunStore, records: Mapping[str, Record], scores: Sequence[Score]) -> list[Numbers]:
    """The values (methods, samples) that the scores are means of, seed by seed; none where they are no means."""
    by_method = []
    for score in scores:
        series = series_of(run, score.environment, score.method)
        pairs = [(each, value) for each, value in zip(series, score.per_seed, strict=True) if value is not None]
        values = [np.array(seed_values(each, score.metric, store, records), np.float64) for each, _ in pairs]
        means = [float(np.nanmean(row)) if np.isfinite(row).any() else np.nan for row in values]
        if not np.allclose(means, [value for _, value in pairs], rtol=1e-9, atol=1e-12):
            return []
        by_method.append(values)
    return [np.stack(rows) for rows in zip(*by_method, strict=True)]
