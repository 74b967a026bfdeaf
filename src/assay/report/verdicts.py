"""Verdicts of a run's faithfulness tests, from its boards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from assay.core.floors import Check
from assay.stats.faithfulness import Measured, Verdict, checks_for

if TYPE_CHECKING:
    from assay.report.board import Board


def verdicts(study: Mapping[str, Any], boards: Sequence[Board]) -> dict[tuple[str, float], tuple[Verdict, ...]]:
    """Verdicts by the tested metric's label and gamma."""
    methods = tuple(dict.fromkeys(line.method for board in boards for line in board.lines))
    return {
        (str(test["metric"]), float(test["gamma"])): tuple(_verdict(test, method, boards) for method in methods)
        for test in study["faithfulness"]
    }


def _verdict(test: Mapping[str, Any], method: str, boards: Sequence[Board]) -> Verdict:
    gamma, own_metric = float(test["gamma"]), test.get("by", {}).get(method)
    checks = [Check(**check) for check in test.get("checks", ())] or [Check(str(test["metric"]), gamma)]
    lines = [line for board in boards for line in board.lines if line.method == method]
    positive_only = not own_metric and any(line.remarks.positive_only for line in lines)
    method_checks = (Check(str(own_metric), gamma),) if own_metric else checks_for(checks, positive_only)
    measured = tuple(
        Measured(check, score, test.get("rule", "interval"))
        for line in lines
        for check in method_checks
        if (score := line.cells.get(check.metric)) is not None and score.value is not None
    )
    return Verdict(method, gamma, measured, positive_only and method_checks != tuple(checks))
