"""``assay bench``: speed, side by side with peers in the same run."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from assay.cli.options import Json
from assay.core.errors import AssayError


def bench(
    task: Annotated[str | None, typer.Argument(help="A task; default: all.")] = None,
    repeats: Annotated[int, typer.Option(min=1, help="The median of this many runs is reported.")] = 5,
    as_json: Json = False,
) -> None:
    """Measure throughput next to the peer in one process, one thread, with equal numbers checked."""
    from rich.console import Console

    from assay.bench.bench import measure, tasks

    results: list[dict[str, Any]] = []
    with Console(stderr=True).status("measuring") as status:
        for name in tasks(task):
            status.update(f"measuring {name}")
            try:
                results += measure(name, repeats)
            except AssayError as error:  # a peer is not installed
                if task is not None:
                    raise
                typer.echo(f"skipped {name}: {error}", err=True)
    if as_json:
        typer.echo(json.dumps(results, indent=2))
    else:
        _print(results, repeats)


def _print(results: list[dict[str, Any]], repeats: int) -> None:
    from rich.console import Console

    from assay.report.table import Table
    from assay.report.terminal import print_table

    console = Console()
    console.print(f"One thread, CPU time, median of {repeats} alternating runs; /s: explanations per second.\n")
    for problem in dict.fromkeys((row["task"], row["problem"]) for row in results):
        rows = [row for row in results if (row["task"], row["problem"]) == problem]
        figures = tuple((row["who"], row["figure"], row["ratio"]) for row in rows)
        console.print(f"[bold]{problem[0]}[/bold]: {problem[1]}")
        print_table(Table(("", "", ""), figures, notes=(rows[0]["note"],), text=3), console)
        console.print()
