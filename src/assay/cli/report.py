"""``assay report``: write a static page that opens from disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.bad_records import bad_records_explained
from assay.cli.options import Json, StorePath, StudyName


def report(
    store: StorePath,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Folder. Default: report/ in the store; with --study, report/<study>/."),
    ] = None,
    figures: Annotated[
        Path | None, typer.Option(help="Folder for pictures: all charts (SVG), and the gallery (PNG).")
    ] = None,
    study: StudyName = None,
    as_json: Json = False,
) -> None:
    """Write the report of a store: leaderboards, gallery, skips and failures, provenance."""
    from assay.engine.store.store import Store
    from assay.report.figures import figures as draw
    from assay.report.page import page
    from assay.report.runs import latest_run, studies, study_of
    from assay.report.text import slug

    with bad_records_explained(store):
        opened_store = Store.open(store, create=False)
        run = latest_run(opened_store, study)
        page_path = page(opened_store, output or store / "report" / slug(study or ""), run)
        figure_paths = draw(opened_store, figures, run) if figures else []
        study_names = studies(opened_store)
    if as_json:
        paths = {"page": str(page_path), "figures": [str(path) for path in figure_paths]}
        typer.echo(json.dumps({**paths, "study": study_of(run), "studies": study_names}))
        return
    typer.echo(f"Report: {page_path}")
    if figures:
        typer.echo(f"Figures: {len(figure_paths)} in {figures}")
    if len(study_names) > 1:
        typer.echo(f"It shows {study_of(run)}. Studies in this store: {', '.join(study_names)} (choose with --study).")
