"""Metrics by which a control does as well as methods that look at the model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from assay.core.records import Record
from assay.report.board import Board
from assay.report.components import Component, by_label
from assay.report.words import listed


@dataclass(frozen=True)
class Unbeaten:
    """One metric, the best of the controls by it, and the methods that are no better, by value alone."""

    metric: Component
    control: Component
    value: float | None  # the control's
    methods: tuple[Component, ...]

    def __str__(self) -> str:
        names = listed([method.label for method in self.methods])
        return f"{self.metric.label}: {self.control.label} (control) does as well as {names}"


def unbeaten(run: Record, board: Board) -> Iterator[Unbeaten]:
    methods, metrics = by_label(run, "methods"), by_label(run, "metrics")
    for metric in board.metrics:
        cells = [(methods[line.method], line.cells[metric]) for line in board.lines]
        ranked = [(cell.rank, cell.value, method) for method, cell in cells if cell.rank is not None]
        controls = [place for place in ranked if place[2].control]
        if not controls:
            continue
        best, value, control = min(controls, key=lambda place: place[0])
        behind = tuple(method for rank, _, method in ranked if rank >= best and not method.control)
        if behind:
            yield Unbeaten(metrics[metric], control, value, behind)
