"""``assay export``: the results as a table for other programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.options import Json, StorePath, StudyName

HELP = (
    "FILE.parquet or .csv: one row per sample, with FILE.scores.* (leaderboard with intervals) and FILE.curves.* "
    "(mean curves) beside it; .md or .tex: the leaderboard."
)


def export(
    store: StorePath,
    output: Annotated[Path, typer.Option("-o", "--output", help=HELP)],
    study: StudyName = None,
    as_json: Json = False,
) -> None:
    """Export per-sample scores (parquet, csv) or the leaderboard (md, tex)."""
    from assay.report.export import write
    from assay.report.runs import latest_run, study_of
    from assay.store.store import Store

    found = Store.open(store, create=False)
    run = latest_run(found, study)
    rows = write(found, output, run)
    if as_json:
        typer.echo(json.dumps({"file": str(output), "rows": rows, "study": study_of(run)}))
    else:
        typer.echo(f"{rows} rows of {study_of(run)}: {output}")
