"""Provenance: where the numbers come from, and warnings about them."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.core.records import Record
from assay.report.loaded_run import LoadedRun
from assay.report.runs import runs, studies, study_of
from assay.report.text import counted, listed, size

VERSIONS = ("assay-xai", "torch", "numpy", "captum", "scikit-learn", "python")


@dataclass(frozen=True)
class Provenance:
    run: str
    time: str
    command: str
    store: str  # path, relative to the report's folder
    facts: Mapping[str, str]
    versions: Mapping[str, str]
    warnings: tuple[str, ...]


def provenance(loaded: LoadedRun, folder: Path) -> Provenance:
    run = loaded.run
    return Provenance(
        run.data["run"],
        str(run.origin.get("time", "")),
        shlex.join(str(word) for word in run.data.get("command", ())),
        _relative(loaded.store.root, folder),
        _facts(loaded),
        {name: str(run.origin[name]) for name in VERSIONS if run.origin.get(name)},
        tuple(_warnings(loaded)),
    )


def _relative(store: Path, folder: Path) -> str:
    try:
        return os.path.relpath(store.resolve(), folder.resolve())
    except ValueError:  # another drive
        return str(store.resolve())


def _facts(loaded: LoadedRun) -> dict[str, str]:
    machine: Mapping[str, Any] = loaded.run.data.get("machine", {})
    facts = {"host": ", ".join(_hosts(loaded.records.values()))}
    facts |= {name: str(machine[name]) for name in ("device", "dtype", "threads") if name in machine}
    if "memory" in machine:
        facts["memory"] = f"{size(machine['memory'])} for one model call and its inputs"
    return {name: value for name, value in facts.items() if value}


def _hosts(records: Iterable[Record]) -> list[str]:
    return sorted({str(record.origin["host"]) for record in records if record.origin.get("host")})


def _warnings(loaded: LoadedRun) -> Iterable[str]:
    for name in ("assay-xai", "torch"):
        versions = Counter(str(record.origin[name]) for record in loaded.records.values() if record.origin.get(name))
        if len(versions) > 1:
            mixture = listed([f"{version} ({counted(count, 'record')})" for version, count in sorted(versions.items())])
            yield f"Results of different versions of {name} are mixed: {mixture}."
    if loaded.result.mixed:
        yield loaded.result.mixed
    halved = sum("memory_halved" in record.data for record in loaded.records.values() if record.kind == "trial")
    if halved:
        yield f"Computed in parts for lack of memory: {counted(halved, 'block')}. Equal to 1e-5, not byte for byte."
    if damaged := loaded.store.damaged():
        yield f"The store has {counted(damaged, 'damaged log line')}, skipped here. Run the study again."
    yield from _other_runs(loaded)


def _other_runs(loaded: LoadedRun) -> Iterable[str]:
    """Notes about other runs in the same store."""
    all_runs, study = runs(loaded.store), study_of(loaded.run)
    runs_of_study = [run for run in all_runs if study_of(run) == study]
    if len(runs_of_study) > 1:
        position = "the latest" if runs_of_study[-1].key == loaded.run.key else "not the latest"
        yield f"The store holds {len(runs_of_study)} runs of this study; this is {position}."
    if others := [name for name in studies(loaded.store) if name != study]:
        yield f"The store holds other studies too: {listed(others)}. 'assay report --study NAME' shows one."
