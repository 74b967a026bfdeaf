"""Running a study: plan, execute, and leave behind a store that explains itself."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from assay.artifacts.desk import Desk
from assay.artifacts.outcome import origin
from assay.core.machine import Machine
from assay.core.records import Record, digest
from assay.core.registry import card
from assay.core.spec import Spec, walk
from assay.execute.grid import Grid, grid
from assay.execute.inline import Inline
from assay.execute.local import Local
from assay.execute.plan import Plan, plan
from assay.execute.queue import Queue
from assay.store.store import Store, new_run_id
from assay.study.study import Study


class Executor(Protocol):
    """Decides where artifacts are computed, and yields their records in any order."""

    def run(self, queue: Queue) -> Iterator[Record]: ...


Watch = Callable[[Record | None, Plan], None]  # called with None once at the start, then with every record


@dataclass(frozen=True)
class Finished:
    """A run that came to its end."""

    store: Path
    run: str
    plan: Plan


def run(
    study: Study,
    root: Path,
    workers: int = 0,
    machine: Machine = Machine(),
    watch: Watch | None = None,
    timeout: float | None = None,
) -> Finished:
    """Run what is missing; the same call again resumes. ``workers=0`` computes in this process."""
    store = Store.open(root)
    run_id = new_run_id()
    with store.writer(run_id):
        wanted = grid(study, machine.dtype)
        todo = plan(wanted, store)
        if watch:
            watch(None, todo)
        executor: Executor = Local(root, workers, machine, timeout) if workers else Inline(Desk(store, machine))
        for record in executor.run(Queue(todo.artifacts, store)):
            store.put(record)
            if watch:
                watch(record, todo)
        store.put(_run_record(run_id, study, wanted, machine))
    return Finished(root, run_id, todo)


def _run_record(run_id: str, study: Study, wanted: Grid, machine: Machine) -> Record:
    data = {
        "run": run_id,
        "study": study.to_json(),
        "rows": [row.to_json() for row in wanted.rows],
        "trials": [cell.to_json() for cell in wanted.cells],
        "gallery": [{"environment": label, "key": shown.key} for label, shown in wanted.gallery.items()],
        "cards": _cards(study),
        "machine": asdict(machine),
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
    }
    return Record("run", digest(["run", run_id]), "ok", data=data, origin=origin())


def _cards(study: Study) -> dict[str, dict[str, Any]]:
    """The cards of everything in the study, so that a report needs no component code."""
    cards: dict[str, dict[str, Any]] = {}
    for kind, entries in (
        ("environments", study.environments),
        ("methods", study.methods),
        ("metrics", study.metrics),
    ):

        def keep(spec: Spec, kind: str = kind) -> None:
            cards[f"{kind}/{spec.name}"] = card(kind, spec.name).to_json()

        for entry in entries:
            walk(entry.spec, keep)
    return cards
