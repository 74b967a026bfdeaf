"""Metrics by which a control scores at least as well as methods that use the model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from assay.core.records import Record
from assay.report.board import Board
from assay.report.components import Component, by_label
from assay.report.text import listed


@dataclass(frozen=True)
class UnbeatenControl:
    """One metric, its best control, and the methods that are no better, by value alone."""

    metric: Component
    control: Component
    value: float | None  # the control's
    methods: tuple[Component, ...]

    def __str__(self) -> str:
        names = listed([method.label for method in self.methods])
        return f"{self.metric.label}: {self.control.label} (control) does as well as {names}"


def unbeaten_controls(run: Record, board: Board) -> Iterator[UnbeatenControl]:
    methods, metrics = by_label(run, "methods"), by_label(run, "metrics")
    for metric in board.metrics:
        cells = [(methods[line.method], line.cells[metric]) for line in board.lines]
        ranked = [(cell.rank, cell.value, method) for method, cell in cells if cell.rank is not None]
        controls = [row for row in ranked if row[2].control]
        if not controls:
            continue
        best_rank, value, control = min(controls, key=lambda row: row[0])
        not_better = tuple(method for rank, _, method in ranked if rank >= best_rank and not method.control)
        if not_better:
            yield UnbeatenControl(metrics[metric], control, value, not_better)
