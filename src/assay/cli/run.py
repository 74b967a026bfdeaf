"""``assay run``: run a study, or what is missing of it."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.options import (
    Device,
    Dtype,
    Json,
    Memory,
    Threads,
    Timeout,
    Workers,
    machine,
    seed_list,
    time_limit,
    worker_count,
)
from assay.core.machine import Machine
from assay.core.records import Record
from assay.study.shelf import find
from assay.study.study import Study


def run(
    study: Annotated[str, typer.Argument(help="A TOML file, or the name of a shipped study ('assay ls studies').")],
    store: Annotated[Path | None, typer.Option(help="Where results go. Default: runs/<study>.")] = None,
    workers: Workers = None,
    timeout: Timeout = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Evaluate at most this many samples.")] = None,
    seeds: Annotated[str | None, typer.Option(help="Seeds instead of the study's, such as 0,1,2.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be computed, and compute nothing.")
    ] = False,
    device: Device = "cpu",
    memory: Memory = "1GB",
    threads: Threads = 1,
    dtype: Dtype = "float32",
    as_json: Json = False,
) -> None:
    """Run a study. Running it again resumes: nothing that is complete is computed twice."""
    found = find(study).narrowed(limit, seed_list(seeds))
    root = store or Path("runs") / found.name
    options = machine(device, memory, threads, dtype)
    count = worker_count(workers, options.memory)
    limited = time_limit(timeout, count)
    if dry_run:
        forecast(found, root, options, as_json)
    else:
        _, code = execute(found, root, count, options, as_json, limited)
        raise typer.Exit(code)


def execute(
    study: Study, root: Path, workers: int, options: Machine, as_json: bool, timeout: float | None = None
) -> tuple[Record, int]:
    """Run, print, and say how it ended: 0, or 1 when a cell failed or a required method was refuted."""
    from assay.cli.progress import progress
    from assay.cli.tables import print_result, to_json
    from assay.execute.run import run as run_study
    from assay.report.board import result
    from assay.report.runs import run_named, studies
    from assay.store.store import Store

    with progress(root, workers, quiet=as_json) as watch:
        finished = run_study(study, root, workers, options, watch, timeout)
    store = Store.open(root, create=False)
    found = result(store, run_named(store, finished.run))  # not the latest by the clock: that may be another's
    if as_json:
        typer.echo(json.dumps({**to_json(found), "store": str(root)}, indent=2))
    else:
        print_result(found)
        plan = finished.plan
        typer.echo(f"{plan.trials} blocks of attributions, {plan.reused} of them complete before. Store: {root}")
        which = ["--study", study.name] if len(studies(store)) > 1 else []
        typer.echo(f"Look at it: {shlex.join(['assay', 'report', str(root), *which])}")
    verdicts = [(test, v) for test in study.faithfulness for v in found.verdicts[test.metric, test.gamma]]
    failing = {True: ("refuted", "undecided"), False: ("refuted",)}
    refuted = [v for test, v in verdicts if v.method in test.require and v.outcome in failing[test.strict]]
    cells = [cell for board in found.boards for line in board.lines for cell in line.cells.values()]
    nothing = bool(cells) and all(cell.status != "ok" for cell in cells)
    if nothing and not as_json:
        typer.echo("Nothing could be scored: the reasons are above.")
    return found.run, 1 if found.failed() or refuted or nothing else 0


def forecast(study: Study, root: Path, options: Machine, as_json: bool) -> None:
    """What a run would do, and how long it may take as far as the store knows."""
    from assay.execute.forecast import forecast as estimate

    found = estimate(study, root, options.dtype)
    if as_json:
        typer.echo(json.dumps(found, indent=2))
        return
    jobs = ", ".join(f"{count} {kind}" for kind, count in found["jobs"].items()) or "nothing"
    typer.echo(
        f"{study.name}: {found['trials']} blocks of attributions, {found['reused']} complete with all their scores."
    )
    typer.echo(f"To compute: {jobs}.")
    if found["seconds"] is None:
        less = " Try --limit 8 first." if any(entry.samples > 8 for entry in study.environments) else ""
        typer.echo(f"No time estimate: nothing of this study has been computed yet.{less}")
    else:
        typer.echo(f"About {found['seconds']:.0f} s of one core, from the times of what the store already has.")
