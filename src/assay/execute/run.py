"""Running a study: plan, execute, and store the records with the study and the cards of its components."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from assay.artifacts.desk import Desk
from assay.artifacts.outcome import origin
from assay.catalogue.registry import card
from assay.core.machine import Machine, Resources
from assay.core.records import Record, digest
from assay.core.spec import Spec, walk
from assay.execute.data_files import check_data
from assay.execute.grid import Grid, grid
from assay.execute.inline import Inline
from assay.execute.local import Local
from assay.execute.other_runs import OtherRuns
from assay.execute.plan import Plan, plan
from assay.execute.queue import Queue
from assay.execute.shared_queue import SharedQueue
from assay.store.fault_points import fault_point
from assay.store.store import Store, new_run_id
from assay.study.study import Study


class Executor(Protocol):
    """Decides where artifacts are computed, and yields their records in any order."""

    def run(self, queue: Queue) -> Iterator[Record]: ...


Watch = Callable[[Record | None, Plan], None]  # called with None once at the start, then with every record


@dataclass(frozen=True)
class Finished:
    """A finished run."""

    store: Path
    run: str
    plan: Plan


def run(
    study: Study,
    root: Path,
    resources: Resources = Resources(),
    watch: Watch | None = None,
) -> Finished:
    """Run what the store lacks; the same call resumes a stopped run."""
    store = Store.open(root)
    run_id = new_run_id()
    with store.writer(run_id), OtherRuns(store, run_id, study.name) as others:
        study_grid = grid(study, resources.machine.dtype)
        remaining = plan(study_grid, store)
        if resources.cluster is None:  # whose workers may have other files
            check_data(study, remaining)
        show = watch or (lambda record, plan: None)
        show(None, remaining)
        queue = SharedQueue(remaining.artifacts, store, others)
        while queue.wait():
            for record in _executor(store, resources).run(queue):
                store.put(record)
                others.note_stored(record.key)
                for done in (record, *queue.taken_over()):
                    show(done, remaining)
        for done in queue.taken_over():
            show(done, remaining)
        fault_point("run.unrecorded")
        store.put(_run_record(store, run_id, study, study_grid, resources.machine))
    return Finished(root, run_id, remaining)


def _executor(store: Store, resources: Resources) -> Executor:
    workers, machine, timeout = resources.workers, resources.machine, resources.timeout
    if resources.cluster is not None:
        from assay.execute.dask import Dask

        return Dask(store.root, workers, machine, timeout, resources.cluster)
    return Local(store.root, workers, machine, timeout) if workers else Inline(Desk(store, machine))


def _run_record(store: Store, run_id: str, study: Study, study_grid: Grid, machine: Machine) -> Record:
    data = {
        "run": run_id,
        "study": study.to_json(),
        "rows": [row.to_json() for row in study_grid.rows],
        "trials": [series.to_json() for series in study_grid.series],
        "gallery": [{"environment": label, "key": samples.key} for label, samples in study_grid.gallery.items()],
        "cards": _cards(study),
        "machine": asdict(machine),
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
    }
    return Record("run", digest(["run", run_id]), "ok", data=data, origin={**origin(), **_order(store)})


def _order(store: Store) -> dict[str, Any]:
    """What the runs of a store are ordered by: time, never before that of an earlier run if the clock was set back;
    then their number."""
    store.refresh()
    earlier = [str(run.origin.get("ended", run.origin.get("time", ""))) for run in store.records("run")]
    return {"ended": max([*earlier, str(origin()["time"])]), "number": len(earlier)}


def _cards(study: Study) -> dict[str, dict[str, Any]]:
    """The cards of everything in the study, so that a report needs no component code."""
    cards: dict[str, dict[str, Any]] = {}
    for kind, entries in (
        ("environments", study.environments),
        ("methods", study.methods),
        ("metrics", study.metrics),
    ):

        def add_card(spec: Spec, kind: str = kind) -> None:
            cards[f"{kind}/{spec.name}"] = card(kind, spec.name).to_json()

        for entry in entries:
            walk(entry.spec, add_card)
    return cards
