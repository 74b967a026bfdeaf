"""``assay run``: run a study, or complete it."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.options import RunOptions, Scale, seed_list, with_run_options
from assay.cli.prints import prints_on_stderr
from assay.core.machine import Resources
from assay.studies.shipped import find
from assay.studies.study import Study

if TYPE_CHECKING:
    from assay.engine.execute.forecast import Forecast
    from assay.engine.execute.run import Finished

LARGEST = 5  # components of which a dry run prints the time


@with_run_options
def run(
    study: Annotated[str, typer.Argument(help="A TOML file, or the name of a shipped study ('assay ls studies').")],
    store: Annotated[Path | None, typer.Option(help="Where results go. Default: runs/<study>.")] = None,
    scale: Scale = "quick",
    limit: Annotated[int | None, typer.Option(min=1, help="Evaluate at most this many samples.")] = None,
    seeds: Annotated[str | None, typer.Option(help="Seeds instead of the study's, such as 0,1,2.")] = None,
    options: RunOptions = RunOptions(),
) -> None:
    """Run a study. Running it again resumes: nothing that is complete is computed twice."""
    with prints_on_stderr():  # components are imported
        narrowed = find(study).at(scale).narrowed(limit, seed_list(seeds))
    execute_or_forecast(narrowed, store or Path("runs") / narrowed.name, options, options.resources())


def execute_or_forecast(study: Study, root: Path, options: RunOptions, resources: Resources) -> None:
    """Run, unless only a forecast was asked for."""
    if options.dry_run:
        forecast(study, root, resources, options.as_json)
    else:
        _, code = execute(study, root, resources, options)
        raise typer.Exit(code)


def execute(study: Study, root: Path, resources: Resources, options: RunOptions) -> tuple[Finished, int]:
    """Run and print; returns the run and the exit code: 1 if a cell failed or a required method was refuted, else 0."""
    from assay.cli.tables import print_result, to_json
    from assay.engine.execute.run import run as run_study
    from assay.report.board import result
    from assay.report.progress import progress
    from assay.report.runs import studies

    as_json = options.as_json
    again = shlex.join(["assay", *sys.argv[1:]])
    with progress(resources, as_json, again) as watch, prints_on_stderr():
        finished = run_study(study, root, resources, watch)
    run_result = result(finished.store, finished.run)
    if as_json:
        typer.echo(json.dumps({**to_json(run_result), "store": str(root)}, indent=2))
    else:
        print_result(run_result, options.full)
        plan = finished.plan
        typer.echo(f"{plan.trials} blocks of attributions, {plan.reused} of them complete before. Store: {root}")
        which = ["--study", study.name] if len(studies(finished.store)) > 1 else []
        typer.echo(f"Look at it: {shlex.join(['assay', 'report', str(root), *which])}")
    refuted = any(
        verdict.method in test.require and verdict.fails(test.strict)
        for test in study.faithfulness
        for verdict in run_result.verdicts[test.metric, test.gamma]
    )
    statuses = {cell.status for cell in run_result.scores()}
    nothing_scored = bool(statuses) and "ok" not in statuses
    if nothing_scored and not as_json:
        typer.echo("Nothing could be scored: the reasons are above.")
    return finished, 1 if run_result.failed() or refuted or nothing_scored else 0


def forecast(study: Study, root: Path, resources: Resources, as_json: bool) -> None:
    """Print what a run would compute, and its time."""
    from assay.engine.execute.forecast import forecast as estimate
    from assay.engine.execute.measure import LONGEST, TOTAL

    def announce(count: int) -> None:
        limits = f"at most {TOTAL + LONGEST:.0f} s, {LONGEST:.0f} s for one"
        typer.echo(f"Measuring the time of {count} kinds of work that the store has no times of: {limits}.", err=True)

    with prints_on_stderr():
        prediction = estimate(study, root, resources, announce)
    if as_json:
        typer.echo(json.dumps(prediction.to_json(), indent=2))
        return
    plan = prediction.plan
    jobs = ", ".join(f"{count} {kind}" for kind, count in plan.kinds.items()) or "nothing"
    typer.echo(f"{study.name}: {plan.trials} blocks of attributions, {plan.reused} complete with all their scores.")
    typer.echo(f"To compute: {jobs}.")
    for line in _times(prediction):
        typer.echo(line)


def _times(prediction: Forecast) -> Iterator[str]:
    from assay.report.text import counted, listed, percent, seconds

    if prediction.seconds is None or prediction.wall is None:
        yield "No time estimate: nothing could be measured."
        return
    about = "About" if prediction.complete else "At least"
    workers = counted(prediction.workers, "worker")
    yield f"{about} {seconds(prediction.seconds)} of one core, {seconds(prediction.wall)} with {workers}."
    shares = [f"{label} {percent(amount / prediction.seconds)}" for _, label, amount in prediction.largest[:LARGEST]]
    if shares:
        yield f"Most of it: {listed(shares)}."
