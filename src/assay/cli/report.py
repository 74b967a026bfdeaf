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
    figures: Annotated[
        Path | None, typer.Option(help="Folder for pictures of the gallery, one per environment.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write the report of a store: leaderboards, gallery, skips and failures, provenance."""
    page = write(store, output or store / "report")
    drawn = draw(store, figures) if figures else []
    if as_json:
        typer.echo(json.dumps({"page": str(page), "figures": [str(path) for path in drawn]}))
    else:
        typer.echo("\n".join([f"Report: {page}", *(f"Figure: {path}" for path in drawn)]))


def write(store: Path, output: Path) -> Path:
    from assay.report.page import page
    from assay.store.store import Store

    return page(Store.open(store, create=False), output)


def draw(store: Path, folder: Path) -> list[Path]:
    from assay.report.gallery import figures
    from assay.store.store import Store

    return figures(Store.open(store, create=False), folder)
