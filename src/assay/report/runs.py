"""The finished runs in a store: a store may hold several studies, and each study several runs."""

from __future__ import annotations

from assay.core.errors import StoreError, suggest
from assay.core.records import Record
from assay.store.store import Store


def runs(store: Store) -> list[Record]:
    """By the time they ended, by the clock of their machine."""
    return sorted(store.records("run"), key=lambda run: (str(run.origin.get("time", "")), str(run.data["run"])))


def studies(store: Store) -> list[str]:
    """The names of the studies that have a finished run, the latest first."""
    return list(dict.fromkeys(study_of(run) for run in reversed(runs(store))))


def study_of(run: Record) -> str:
    return str(run.data["study"]["name"])


def latest_run(store: Store, study: str | None = None) -> Record:
    """The run that ended last, of all or of one study; StoreError where there is none."""
    found = runs(store)
    if not found:
        raise StoreError(f"{store.root} has no finished run: run a study into it first.")
    wanted = [run for run in found if study in (None, study_of(run))]
    if not wanted:
        known = studies(store)
        raise StoreError(
            f"{store.root} has no finished run of '{study}'.{suggest(str(study), known)} It has: {', '.join(known)}."
        )
    return wanted[-1]


def run_named(store: Store, run_id: str) -> Record:
    """The run with this id, whatever clocks say."""
    return next(run for run in store.records("run") if run.data["run"] == run_id)
