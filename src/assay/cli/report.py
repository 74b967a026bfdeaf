"""``assay report``: a static page that opens from disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.options import Json, StorePath


def report(
    store: StorePath,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Folder. Default: report/ in the store.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write the report of a store: leaderboards, gallery, skips and failures, provenance."""
    page = write(store, output or store / "report")
    typer.echo(json.dumps({"page": str(page)}) if as_json else f"Report: {page}")


def write(store: Path, output: Path) -> Path:
    from assay.report.page import page
    from assay.store.store import Store

    return page(Store.open(store, create=False), output)
