"""Verdicts of a run's faithfulness tests, from its boards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.core.floors import Check
from assay.stats.faithfulness import Measured, Verdict, checks_for
from assay.studies.study import Faithfulness, Study

if TYPE_CHECKING:
    from assay.report.board import Board


def verdicts(study: Study, boards: Sequence[Board]) -> dict[tuple[str, float], tuple[Verdict, ...]]:
    """Verdicts by the tested metric's label and gamma."""
    methods = tuple(dict.fromkeys(line.method for board in boards for line in board.lines))
    return {
        (test.metric, test.gamma): tuple(_verdict(test, method, boards) for method in methods)
        for test in study.faithfulness
    }


def _verdict(test: Faithfulness, method: str, boards: Sequence[Board]) -> Verdict:
    gamma, own_metric = test.gamma, test.by.get(method)
    checks = test.checks or (Check(test.metric, gamma),)
    lines = [line for board in boards for line in board.lines if line.method == method]
    positive_only = not own_metric and any(line.remarks.positive_only for line in lines)
    method_checks = (Check(own_metric, gamma),) if own_metric else checks_for(checks, positive_only)
    measured = tuple(
        Measured(check, score, test.rule, line.remarks.grid)
        for line in lines
        for check in method_checks
        if (score := line.cells.get(check.metric)) is not None and score.value is not None
    )
    return Verdict(method, gamma, measured, positive_only and method_checks != checks)
