"""Ceilings: the best scores that maps can reach."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.report.board import Board

DIGIT = 0.0005  # smaller differences are not shown


def ceiling_notes(board: Board) -> Iterator[str]:
    """A sentence for each metric with a ceiling below 1. Methods with a lower one, because of their grid, are named."""
    for metric in board.metrics:
        ceilings = [(line, ceiling) for line in board.lines if (ceiling := line.cells[metric].ceiling) is not None]
        of_all = max((ceiling for line, ceiling in ceilings if not line.remarks.grid), default=1.0)
        common = [f"{of_all:.3f}"] if of_all < 1 - DIGIT else []
        own = [
            f"{line.method} {ceiling:.3f}"
            for line, ceiling in ceilings
            if line.remarks.grid and ceiling < of_all - DIGIT
        ]
        if common or own:
            yield f"ceiling of {metric}: {', '.join([*common, *own])}"
