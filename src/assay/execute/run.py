"""Running a study: plan, execute, summarise, and leave behind a store that explains itself."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from assay.core.machine import Machine
from assay.core.records import Record, digest
from assay.core.registry import card
from assay.core.spec import Spec, walk
from assay.execute.jobs import Job
from assay.execute.local import Local
from assay.execute.outcome import origin
from assay.execute.plan import Plan, plan
from assay.execute.rows import Row
from assay.store.store import Store, new_run_id
from assay.study import grid, keys
from assay.study.study import Study


class Executor(Protocol):
    """Runs jobs and yields their records, in any order."""

    def run(self, jobs: Iterable[Job], store: Store) -> Iterator[Record]: ...


Watch = Callable[[Record | None, Plan], None]  # called with None once at the start, then with every record


@dataclass(frozen=True)
class Finished:
    """A run that came to its end."""

    store: Path
    plan: Plan
    rows: tuple[Row, ...]
    run: str  # its id


def run(
    study: Study, root: Path, workers: int = 0, machine: Machine = Machine(), watch: Watch | None = None
) -> Finished:
    """Run what is missing; the same call again resumes. ``workers=0`` computes in this process."""
    store = Store.open(root)
    run_id = new_run_id()
    with store.writer(run_id):
        todo = plan(study, store, machine.dtype)
        if watch:
            watch(None, todo)
        for record in _executor(workers, machine).run(todo.jobs, store):
            store.put(record)
            if watch:
                watch(record, todo)
        rows = _summarise(study, store, machine)
        store.put(_run_record(run_id, study, rows, machine))
    return Finished(root, todo, tuple(rows), run_id)


def _executor(workers: int, machine: Machine) -> Executor:
    if workers:
        return Local(workers, machine)
    from assay.execute.inline import Inline  # imports torch; with workers, this process needs none to begin

    return Inline(machine)


def _summarise(study: Study, store: Store, machine: Machine) -> list[Row]:
    from assay.execute.summary import summarise  # imports the metrics' code, and torch with it

    return summarise(study, store, machine.dtype)


def _run_record(run_id: str, study: Study, rows: list[Row], machine: Machine) -> Record:
    data = {
        "run": run_id,
        "study": study.to_json(),
        "rows": [row.to_json() for row in rows],
        "trials": _trials(study, machine.dtype),
        "gallery": _gallery(study, machine.dtype),
        "cards": _cards(study),
        "machine": asdict(machine),
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
    }
    return Record("run", digest(["run", run_id]), "ok", data=data, origin=origin())


def _trials(study: Study, dtype: str) -> list[dict[str, Any]]:
    """Which trials belong to which labels: what export and the report read."""
    return [
        {
            "environment": cell.environment.label,
            "method": cell.method.label,
            "seed": cell.seed,
            "samples": cell.environment.samples,
            "fit": cell.fit(),
            "blocks": [{"start": block.start, "trial": cell.trial(block)} for block in cell.blocks],
            "evidence": {
                metric.label: [cell.evidence(metric, block) for block in cell.blocks]
                for metric in grid.metrics(study, cell.environment)
            },
        }
        for cell in grid.cells(study, dtype)
    ]


def _gallery(study: Study, dtype: str) -> list[dict[str, str]]:
    if not study.gallery:
        return []
    places = ((entry, grid.place(study, entry, study.seeds[0], dtype)) for entry in study.environments)
    return [{"environment": entry.label, "key": keys.samples_key(place, study.gallery)} for entry, place in places]


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
