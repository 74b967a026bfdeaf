"""``assay bench``: speed, side by side with peers in the same run."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from assay.cli.options import Json


def bench(
    task: Annotated[str | None, typer.Argument(help="A task; default: all.")] = None,
    repeats: Annotated[int, typer.Option(min=1, help="The median of this many runs is reported.")] = 5,
    as_json: Json = False,
) -> None:
    """Measure throughput next to the peer in one process, one thread, with equal numbers checked."""
    from assay.bench.bench import measure, tasks

    found = [measure(name, repeats) for name in tasks(task)]
    if as_json:
        typer.echo(json.dumps([row for rows in found for row in rows], indent=2))
        return
    from rich.console import Console
    from rich.table import Table

    for rows in found:
        table = Table("problem", "who", "per second", "ratio", "largest difference", title=rows[0]["task"], box=None)
        for row in rows:
            table.add_row(row["problem"], row["who"], f"{row['rate']:,.1f}", row["ratio"], row["difference"])
        Console().print(table)
