"""``assay export``: the results as a table for other programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.options import Json, StorePath

HELP = (
    "FILE.parquet or .csv: one row per sample, with FILE.scores.* (leaderboard with intervals) and FILE.curves.* "
    "(mean curves) beside it; .md or .tex: the leaderboard."
)


def export(
    store: StorePath,
    output: Annotated[Path, typer.Option("-o", "--output", help=HELP)],
    as_json: Json = False,
) -> None:
    """Export per-sample scores (parquet, csv) or the leaderboard (md, tex)."""
    from assay.report.export import write
    from assay.store.store import Store

    rows = write(Store.open(store, create=False), output)
    typer.echo(json.dumps({"file": str(output), "rows": rows}) if as_json else f"{rows} rows: {output}")
