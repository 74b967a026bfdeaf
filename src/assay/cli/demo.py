"""``assay demo``: the main job on what is built in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.options import Json, Workers, worker_count
from assay.core.machine import Machine


def demo(
    store: Annotated[Path, typer.Option(help="Where results go.")] = Path("assay-demo"),
    workers: Workers = None,
    as_json: Json = False,
) -> None:
    """Designed networks, eight methods, truth and model metrics: a ranked table and a report. No download."""
    from assay.cli.run import execute
    from assay.report.page import page
    from assay.store.store import Store
    from assay.study.shelf import find

    run, code = execute(find("demo"), store, worker_count(workers, Machine().memory), Machine(), as_json)
    written = page(Store.open(store, create=False), store / "report", run)
    if not as_json:
        typer.echo(f"Report: {written}")
    raise typer.Exit(code)
