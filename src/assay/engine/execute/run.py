"""Running a study: plan, execute, and store the records with the study and the cards of its components."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from assay.catalogue.cards import Card
from assay.catalogue.describe import describe_class
from assay.catalogue.registry import KINDS, card
from assay.core.errors import SpecError
from assay.core.machine import Machine, Resources
from assay.core.records import Record, digest
from assay.core.spec import Spec, walk
from assay.engine.artifacts.outcome import origin
from assay.engine.execute.data_files import check_data
from assay.engine.execute.grid import Grid, Objects, grid
from assay.engine.execute.local import Local
from assay.engine.execute.plan import Plan, plan
from assay.engine.execute.queue import Queue
from assay.engine.store.fault_points import fault_point
from assay.engine.store.lease import this_run, turn
from assay.engine.store.memory import MemoryStore
from assay.engine.store.protocol import RunStore
from assay.engine.store.store import Store, new_run_id
from assay.studies.study import Study

Watch = Callable[[Record | None, Plan, RunStore], None]  # called with None once at the start, then with every record


@dataclass(frozen=True)
class Finished:
    """A finished run."""

    store: RunStore
    run: Record
    plan: Plan


def run(
    study: Study,
    root: Path,
    resources: Resources = Resources(),
    watch: Watch | None = None,
) -> Finished:
    """Run what the store lacks; the same call resumes a stopped run. Waits while another run writes into the store."""
    store, run_id = Store.open(root), new_run_id()
    study_grid = grid(study, resources.machine.dtype)
    with turn(root, this_run(run_id, study.name), _say), store.writer(run_id):
        remaining = plan(study_grid, store)
        if resources.cluster is None:  # whose workers may have other files
            check_data(study, remaining)
        show = watch or (lambda record, plan, store: None)
        show(None, remaining, store)
        for record in _records(remaining, store, resources):
            store.put(record)
            show(record, remaining, store)
        fault_point("run.unrecorded")
        run_record = _run_record(store, run_id, study, study_grid, resources.machine)
        store.put(run_record)
    return Finished(store, store.get_many([run_record.key])[run_record.key], remaining)


def run_in_memory(
    study: Study, objects: Objects, machine: Machine, watch: Watch | None = None, store: MemoryStore | None = None
) -> Finished:
    """Run a study in this process, of which some components are objects; nothing is written. A store with results of
    the same objects is completed."""
    store, run_id = store or MemoryStore(), new_run_id()
    study_grid = grid(study, machine.dtype, objects)
    remaining = plan(study_grid, store)
    show = watch or (lambda record, plan, store: None)
    show(None, remaining, store)
    for record in _inline(remaining, store, machine):
        store.put(record)
        show(record, remaining, store)
    run_record = _run_record(store, run_id, study, study_grid, machine, objects)
    store.put(run_record)
    return Finished(store, run_record, remaining)


def _say(sentence: str) -> None:
    print(f"assay: {sentence}", file=sys.stderr, flush=True)


def _records(remaining: Plan, store: Store, resources: Resources) -> Iterator[Record]:
    """The records of what is missing: in this process in the order of the plan, elsewhere in any order."""
    if not remaining.artifacts:
        return iter(())
    workers, machine, timeout = resources.workers, resources.machine, resources.timeout
    if resources.cluster is not None:
        from assay.engine.execute.dask import Dask

        return Dask(store.root, workers, machine, timeout, resources.cluster).run(Queue(remaining.artifacts, store))
    if workers:
        return Local(store.root, workers, machine, timeout).run(Queue(remaining.artifacts, store))
    return _inline(remaining, store, machine)


def _inline(remaining: Plan, store: RunStore, machine: Machine) -> Iterator[Record]:
    from assay.engine.artifacts.desk import Desk
    from assay.engine.execute.inline import Inline

    return Inline(Desk(store, machine)).run(remaining.artifacts, store)


def _run_record(
    store: RunStore,
    run_id: str,
    study: Study,
    study_grid: Grid,
    machine: Machine,
    objects: Objects = MappingProxyType({}),
) -> Record:
    data = {
        "run": run_id,
        "study": study.to_json(),
        "rows": [row.to_json() for row in study_grid.rows],
        "trials": [series.to_json() for series in study_grid.series],
        "gallery": [{"environment": label, "key": samples.key} for label, samples in study_grid.gallery.items()],
        "cards": _cards(study, objects),
        "machine": asdict(machine),
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
    }
    return Record("run", digest(["run", run_id]), "ok", data=data, origin={**origin(), **_order(store)})


def _order(store: RunStore) -> dict[str, Any]:
    """What the runs of a store are ordered by: time, never before that of an earlier run if the clock was set back;
    then their number."""
    store.refresh()
    earlier = [str(run.origin.get("ended", run.origin.get("time", ""))) for run in store.records("run")]
    return {"ended": max([*earlier, str(origin()["time"])]), "number": len(earlier)}


def _cards(study: Study, objects: Objects) -> dict[str, dict[str, Any]]:
    """The cards of everything in the study, so that a report needs no component code."""
    cards: dict[str, dict[str, Any]] = {}
    for kind in KINDS:
        for entry in getattr(study, kind):
            specs: list[Spec] = []
            walk(entry.spec, specs.append)
            instance = objects.get((kind, entry.label))
            found = [_object_card(kind, spec.name, instance) if instance else card(kind, spec.name) for spec in specs]
            cards |= {f"{kind}/{spec.name}": own.to_json() for spec, own in zip(specs, found, strict=True)}
    return cards


def _object_card(kind: str, name: str, instance: Any) -> Card:
    """The catalogue's card, else what the class of the object declares."""
    with suppress(SpecError):
        if ":" not in name:
            return card(kind, name)
    return describe_class(kind, name, name, type(instance), digest="object")
