"""``assay demo``: run and report a built-in study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.options import Full, Json, RunOptions, Workers, worker_count
from assay.core.machine import MEMORY, Resources


def demo(
    store: Annotated[Path, typer.Option(help="Where results go.")] = Path("assay-demo"),
    workers: Workers = None,
    as_json: Json = False,
    full: Full = False,
) -> None:
    """Designed networks, eight methods, truth and model metrics: a ranked table and a report. No download."""
    from assay.cli.run import execute
    from assay.report.page import page
    from assay.studies.shipped import find

    finished, code = execute(
        find("demo"), store, Resources(worker_count(workers, MEMORY)), RunOptions(as_json=as_json, full=full)
    )
    path = page(finished.store, store / "report", finished.run)
    if not as_json:
        typer.echo(f"Report: {path}")
    raise typer.Exit(code)
