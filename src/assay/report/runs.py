"""The finished runs in a store: a store may hold several studies, and each study several runs."""

from __future__ import annotations

from collections.abc import Iterator

from assay.core.errors import StoreError, suggest
from assay.core.records import Record, printable
from assay.engine.store.protocol import RunStore


def runs(store: RunStore) -> list[Record]:
    """All finished runs, in the order in which they ended."""
    return sorted(store.records("run"), key=_end)


def _end(run: Record) -> tuple[str, int, str]:
    """By the clock; a run into the same store counts as later than those before it even if the clock was set back."""
    ended = str(run.origin.get("ended") or run.origin.get("time", ""))
    return ended, int(run.origin.get("number", 0)), str(run.data["run"])


def studies(store: RunStore) -> list[str]:
    """The names of the studies that have a finished run, latest first."""
    return list(dict.fromkeys(study_of(run) for run in reversed(runs(store))))


def study_of(run: Record) -> str:
    return printable(str(run.data["study"]["name"]), 200)  # the store may be somebody else's


def latest_run(store: RunStore, study: str | None = None) -> Record:
    """The run that ended last, of all studies or of one; StoreError if there is none."""
    all_runs = runs(store)
    if not all_runs:
        raise StoreError(f"{store.root} has no finished run: run a study into it first.")
    matching = [run for run in all_runs if study in (None, study_of(run))]
    if not matching:
        names = studies(store)
        raise StoreError(
            f"{store.root} has no finished run of '{study}'.{suggest(str(study), names)} It has: {', '.join(names)}."
        )
    return matching[-1]


def keys_of(run: Record) -> Iterator[str]:
    """The keys of all records that a run refers to: samples, fits, trials, evidence, scores."""
    data = run.data
    for row in (*data["rows"], *data["gallery"]):
        yield row["key"]
    for series in data["trials"]:
        yield from (block["trial"] for block in series["blocks"])
        yield from (key for keys in series["evidence"].values() for key in keys)
        if series.get("fit"):
            yield series["fit"]
