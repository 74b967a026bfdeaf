"""Verdicts of the faithfulness tests of a run, from its boards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from assay.core.floors import Check
from assay.stats.faithfulness import Measured, Verdict, checks_for

if TYPE_CHECKING:
    from assay.report.board import Board


def verdicts(study: Mapping[str, Any], boards: Sequence[Board]) -> dict[tuple[str, float], tuple[Verdict, ...]]:
    """By the label of the tested metric and gamma."""
    methods = tuple(dict.fromkeys(line.method for board in boards for line in board.lines))
    return {
        (str(test["metric"]), float(test["gamma"])): tuple(_verdict(test, method, boards) for method in methods)
        for test in study["faithfulness"]
    }


def _verdict(test: Mapping[str, Any], method: str, boards: Sequence[Board]) -> Verdict:
    gamma, own = float(test["gamma"]), test.get("by", {}).get(method)
    checks = [Check(**check) for check in test.get("checks", ())] or [Check(str(test["metric"]), gamma)]
    lines = {board.environment: line for board in boards for line in board.lines if line.method == method}
    positive_only = not own and any(line.said.positive_only for line in lines.values())
    asked = (Check(str(own), gamma),) if own else checks_for(checks, positive_only)
    measured = tuple(
        Measured(place, check, cell.value, cell.low, cell.high, cell.basis, cell.per_seed, test.get("rule", "interval"))
        for place, line in lines.items()
        for check in asked
        if (cell := line.cells.get(check.metric)) is not None and cell.value is not None
    )
    return Verdict(method, gamma, measured, positive_only and asked != tuple(checks))
