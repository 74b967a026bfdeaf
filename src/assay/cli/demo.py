"""``assay demo``: run and report a built-in study."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.options import Full, Json, RunOptions, Workers, worker_count
from assay.core.machine import MEMORY, Resources

if TYPE_CHECKING:
    from assay.report.finding import Finding

UNSEEN = "unseen colours"  # the label of the network that answers at random to colours it has never seen
WHY = (
    "Why they differ: this network answers at random to colours that are not in its data, as trained networks do. IG "
    "from black passes through such colours, and these metrics paint pixels black: both look at the network where it "
    "makes no sense (AttributionLab, Zhang et al., 2024). On seen colours IG and InputXGradient stand side by side, by "
    "these metrics and by the truth."
)


def demo(
    store: Annotated[Path, typer.Option(help="Where results go.")] = Path("assay-demo"),
    workers: Workers = None,
    as_json: Json = False,
    full: Full = False,
) -> None:
    """Designed networks, eight methods, truth and model metrics: a ranked table and a report. No download."""
    from assay.cli.run import execute
    from assay.report.board import result
    from assay.report.page import page
    from assay.studies.shipped import find

    finished, code = execute(
        find("demo"), store, Resources(worker_count(workers, MEMORY)), RunOptions(as_json=as_json, full=full)
    )
    path = page(finished.store, store / "report", finished.run)
    if not as_json:
        _explain(result(finished.store, finished.run).findings)
        typer.echo(f"Pictures, tables and details: {path}")
    raise typer.Exit(code)


def _explain(findings: Sequence[Finding]) -> None:
    """Why a metric contradicts the truth, where one does on the network with colours that it has never seen."""
    if any(finding.rule == "reversed" and UNSEEN in finding.text for finding in findings):
        typer.echo(textwrap.fill(WHY, 80, break_on_hyphens=False) + "\n")
