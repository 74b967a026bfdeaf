"""``assay export``: write the results as tables for other programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.bad_records import bad_records_explained
from assay.cli.options import Json, StorePath, StudyName

HELP = (
    "FILE.parquet or .csv: one row per sample, with FILE.scores.* (leaderboard with intervals), FILE.pairs.* (tests of "
    "all pairs of methods), FILE.agreement.* (of metrics with truth) and FILE.slope.* (of two rankings), if the "
    "study asks, FILE.damage.* (of metrics to damaged maps, if the study has some) and FILE.curves.* (mean "
    "curves) beside it; .md or .tex: the leaderboard, with failure curves, agreement, slopes and response to damage."
)


def export(
    store: StorePath,
    output: Annotated[Path, typer.Option("-o", "--output", help=HELP)],
    study: StudyName = None,
    as_json: Json = False,
) -> None:
    """Export per-sample scores (parquet, csv) or the leaderboard (md, tex)."""
    from assay.engine.store.store import Store
    from assay.report.export import write
    from assay.report.runs import latest_run, study_of

    with bad_records_explained(store):
        opened_store = Store.open(store, create=False)
        run = latest_run(opened_store, study)
        rows = write(opened_store, output, run)
    if as_json:
        typer.echo(json.dumps({"file": str(output), "rows": rows, "study": study_of(run)}))
    else:
        typer.echo(f"{rows} rows of {study_of(run)}: {output}")
