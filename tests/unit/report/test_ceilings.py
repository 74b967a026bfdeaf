"""What is said about ceilings below a leaderboard."""

from __future__ import annotations

from assay.core.evidence import Score
from assay.report.board import Board, Line
from assay.report.ceilings import ceiling_notes
from assay.report.remarks import MethodRemarks


def line(method: str, ceiling: float | None, grid: str = "") -> Line:
    return Line(method, {"F1": Score(0.2, ceiling=ceiling)}, None, MethodRemarks(grid=grid))


def notes(*lines: Line) -> list[str]:
    return list(ceiling_notes(Board("here", ("F1",), lines)))


def test_nothing_is_said_where_every_map_reaches_one_or_no_ceiling_is_known() -> None:
    assert notes(line("a", 1.0), line("b", 0.9999), line("c", None)) == []


def test_methods_with_a_grid_have_a_ceiling_of_their_own() -> None:
    assert notes(line("a", 0.655), line("b", 0.376, "3x3 grid")) == ["ceiling of F1: 0.655, b 0.376"]
    assert notes(line("a", 1.0), line("b", 0.167, "3x3 grid")) == ["ceiling of F1: b 0.167"]


def test_a_grid_that_makes_no_difference_is_not_named() -> None:
    assert notes(line("a", 0.5), line("b", 0.5, "segments"), line("c", 0.4998)) == ["ceiling of F1: 0.500"]
