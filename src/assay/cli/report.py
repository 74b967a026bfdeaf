"""``assay report``: a static page that opens from disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.options import Json, StorePath, StudyName


def report(
    store: StorePath,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Folder. Default: report/ in the store; with --study, report/<study>/."),
    ] = None,
    figures: Annotated[
        Path | None, typer.Option(help="Folder for pictures of the gallery, one per environment.")
    ] = None,
    study: StudyName = None,
    as_json: Json = False,
) -> None:
    """Write the report of a store: leaderboards, gallery, skips and failures, provenance."""
    from assay.report.gallery import figures as draw
    from assay.report.page import page
    from assay.report.runs import latest_run, studies, study_of
    from assay.report.words import slug
    from assay.store.store import Store

    found = Store.open(store, create=False)
    run = latest_run(found, study)
    written = page(found, output or store / "report" / slug(study or ""), run)
    drawn = draw(found, figures, run) if figures else []
    known = studies(found)
    if as_json:
        told = {"page": str(written), "figures": [str(path) for path in drawn]}
        typer.echo(json.dumps({**told, "study": study_of(run), "studies": known}))
        return
    typer.echo("\n".join([f"Report: {written}", *(f"Figure: {path}" for path in drawn)]))
    if len(known) > 1:
        typer.echo(f"It shows {study_of(run)}. Studies in this store: {', '.join(known)} (choose with --study).")
