"""Live progress of a run: what is being done, how far it is, how long it will take."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from assay.core.records import Record
from assay.execute.plan import Plan
from assay.execute.run import Watch

DOING = {
    "trial": "attributing",
    "evidence": "judging",
    "model": "training",
    "probe": "probing",
    "fit": "fitting",
    "prepared": "preparing",
}


@contextmanager
def progress(quiet: bool) -> Iterator[Watch | None]:
    """A watcher that draws a bar on standard error; None when nothing should be drawn."""
    if quiet:
        yield None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[trouble]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("planning", total=None, trouble="")
        trouble = {"failed": 0, "skipped": 0}

        def watch(record: Record | None, plan: Plan) -> None:
            if record is None:
                bar.update(task, total=plan.total, description="starting")
                return
            if record.status != "ok":
                trouble[record.status] += 1
            said = ", ".join(f"{count} {status}" for status, count in trouble.items() if count)
            bar.update(task, advance=1, description=_what(record), trouble=said)

        yield watch


def _what(record: Record) -> str:
    return DOING.get(record.kind, record.kind)
