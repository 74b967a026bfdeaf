"""``assay store``: look after the folder in which runs keep their results."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.options import Json, StorePath
from assay.core.errors import AssayError

if TYPE_CHECKING:
    from assay.engine.store.damage import Damage
    from assay.engine.store.files import Step

BAR_AFTER = 2.0  # seconds after which a bar is drawn
MOST_PRINTED = 20  # pieces of damage that are printed one by one

Sources = Annotated[list[Path], typer.Argument(help="Stores to copy from; they stay as they are.")]
Target = Annotated[Path, typer.Argument(help="The last one: the store that gets everything. Made if it is not there.")]


def verify(
    store: StorePath,
    repair: Annotated[
        bool, typer.Option("--repair", help="Set damaged arrays aside, and remember damaged lines.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Read every byte of a store and list damage. Exit code 1 if there is some, 0 if there is none or it was repaired.

    Damage makes no number wrong: what is damaged counts as missing, and the next run of the study computes it.
    """
    from assay.engine.store.damage import find_damage, known_lines
    from assay.engine.store.damage import repair as repair_damage
    from assay.engine.store.store import Store

    root = Store.open(store, create=False).root
    with _bar("verifying", as_json) as step:
        damage = find_damage(root, step)
    if damage and repair:
        repair_damage(root, damage)
    again = dict(Counter(kind for kind, _ in {(item.kind, item.key) for item in damage if item.what == "array"}))
    known = sum(map(len, known_lines(root).values()))
    if as_json:
        rows = [{"what": item.what, "kind": item.kind, "key": item.key, "sentence": item.sentence} for item in damage]
        _print_json(store, damage=rows, repaired=bool(damage) and repair, compute_again=again, skipped_lines=known)
    else:
        _print_damage(store, damage, repair)
        if known:
            typer.echo(f"Damaged log lines that are skipped: {known}.")
    raise typer.Exit(1 if damage and not repair else 0)


def gc(
    store: StorePath,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be removed, and remove nothing.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Remove what a store no longer needs: arrays that no record names, partial and damaged files."""
    from assay.engine.store.garbage import find_garbage, remove
    from assay.engine.store.store import Store
    from assay.report.text import counted, size

    opened_store = Store.open(store, create=False)
    with _bar("waiting for a sign of life of another run", as_json) as step:
        files = find_garbage(opened_store, step=step)
    if not dry_run:
        with _bar("removing", as_json) as step:
            remove(files, step)
    total = sum(files.values())
    if as_json:
        _print_json(store, files=len(files), bytes=total, removed=not dry_run)
    else:
        typer.echo(f"{'To remove' if dry_run else 'Removed'}: {counted(len(files), 'file')}, {size(total)}.")


def merge(sources: Sources, target: Target, as_json: Json = False) -> None:
    """Copy all records and arrays of stores into another one, the last that is named."""
    from assay.engine.store.store import Store

    if any(source.resolve() == target.resolve() for source in sources):
        raise AssayError(f"{target} is both a source and the target of this merge: name each store once.")
    opened_sources = [Store.open(source, create=False) for source in sources]
    opened_target, damage = Store.open(target), []
    for source in opened_sources:
        with _bar(f"copying {source.root}", as_json) as step:
            damage += opened_target.merge(source, step)
    records = len(opened_target.dump())
    if as_json:
        names = [str(source) for source in sources]
        typer.echo(
            json.dumps({"target": str(target), "sources": names, "records": records, "damage": damage}, indent=2)
        )
    else:
        typer.echo(f"Into {target}: {', '.join(map(str, sources))}. It has {records} records now.")
        for sentence in damage:
            typer.echo(f"Not copied: {sentence}")
    raise typer.Exit(1 if damage else 0)


def ls(store: StorePath, as_json: Json = False) -> None:
    """List the runs in a store; those that are running now are marked."""
    from assay.engine.store.listing import list_runs
    from assay.engine.store.store import Store

    root = Store.open(store, create=False).root
    with _bar("reading logs", as_json) as step:
        runs = list_runs(root, step)
    if as_json:
        _print_json(store, runs=[asdict(run) for run in runs])
        return
    from assay.report.table import Table, plain_lines
    from assay.report.text import size

    columns = ("study", "began (UTC)", "state", "records", "ok", "skipped", "failed", "size", "run")
    counts = [tuple(map(str, (run.records, *run.statuses.values()))) for run in runs]
    rows = tuple(
        (run.study or "?", run.began, run.state, *count, size(run.bytes), run.run)
        for run, count in zip(runs, counts, strict=True)
    )
    for line in plain_lines(Table(columns, rows)):
        typer.echo(line)


COMMANDS = (verify, gc, merge, ls)


def _print_json(store: Path, **fields: Any) -> None:
    typer.echo(json.dumps({"store": str(store), **fields}, indent=2))


def _print_damage(store: Path, damage: list[Damage], repaired: bool) -> None:
    if not damage:
        typer.echo(f"{store} is intact.")
        return
    for item in damage[:MOST_PRINTED]:
        typer.echo(item.sentence)
    if len(damage) > MOST_PRINTED:
        typer.echo(f"... and {len(damage) - MOST_PRINTED} more: see --json.")
    artifacts = {(item.kind, item.key) for item in damage if item.what == "array"}
    again = [f"{count} {kind}" for kind, count in sorted(Counter(kind for kind, _ in artifacts).items())]
    if lines := sum(item.what == "line" for item in damage):
        again.append(f"what {lines} damaged log {'line' if lines == 1 else 'lines'} recorded")
    next_run = (
        f"The next run of the study computes {', '.join(again)}." if again else "Nothing has to be computed again."
    )
    typer.echo(f"{'Repaired.' if repaired else 'Repair it with --repair.'} {next_run}")


@contextmanager
def _bar(label: str, quiet: bool) -> Iterator[Step]:
    """A function that advances a bar on standard error, which appears after ``BAR_AFTER`` seconds."""
    from rich.console import Console
    from rich.progress import Progress

    bar = Progress(console=Console(stderr=True), transient=True)
    task, timer = bar.add_task(label, total=None), threading.Timer(BAR_AFTER, bar.start)
    timer.daemon = True
    if not quiet:
        timer.start()
    try:
        yield lambda done, total: bar.update(task, completed=done, total=total)
    finally:
        timer.cancel()
        if not quiet:
            timer.join()
            if bar.live.is_started:
                bar.stop()
