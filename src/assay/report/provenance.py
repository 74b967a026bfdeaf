"""Where the numbers come from, and what a reader should know before trusting them."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.core.records import Record
from assay.report.reading import Reading
from assay.report.runs import runs, studies, study_of
from assay.report.words import counted, listed, size

VERSIONS = ("assay-xai", "torch", "numpy", "captum", "scikit-learn", "python")


@dataclass(frozen=True)
class Provenance:
    run: str
    time: str
    command: str
    store: str  # path, relative to the report
    facts: Mapping[str, str]
    versions: Mapping[str, str]
    warnings: tuple[str, ...]


def provenance(reading: Reading, folder: Path) -> Provenance:
    run = reading.run
    return Provenance(
        run.data["run"],
        str(run.origin.get("time", "")),
        shlex.join(str(word) for word in run.data.get("command", ())),
        _relative(reading.store.root, folder),
        _facts(reading),
        {name: str(run.origin[name]) for name in VERSIONS if run.origin.get(name)},
        tuple(_warnings(reading)),
    )


def _relative(store: Path, folder: Path) -> str:
    try:
        return os.path.relpath(store.resolve(), folder.resolve())
    except ValueError:  # another drive
        return str(store.resolve())


def _facts(reading: Reading) -> dict[str, str]:
    machine: Mapping[str, Any] = reading.run.data.get("machine", {})
    facts = {"host": ", ".join(_hosts(reading.records.values()))}
    facts |= {name: str(machine[name]) for name in ("device", "dtype", "threads") if name in machine}
    if "memory" in machine:
        facts["memory"] = f"{size(machine['memory'])} for one model call and its inputs"
    return {name: value for name, value in facts.items() if value}


def _hosts(records: Iterable[Record]) -> list[str]:
    return sorted({str(record.origin["host"]) for record in records if record.origin.get("host")})


def _warnings(reading: Reading) -> Iterable[str]:
    for name in ("assay-xai", "torch"):
        found = Counter(str(record.origin[name]) for record in reading.records.values() if record.origin.get(name))
        if len(found) > 1:
            mix = listed([f"{version} ({counted(count, 'record')})" for version, count in sorted(found.items())])
            yield f"Results of different versions of {name} are mixed: {mix}."
    halved = sum("memory_halved" in record.data for record in reading.records.values() if record.kind == "trial")
    if halved:
        yield f"Computed in parts for lack of memory: {counted(halved, 'block')}. Equal to 1e-5, not byte for byte."
    if damaged := reading.store.damaged():
        yield f"The store has {counted(damaged, 'damaged log line')}, skipped here. Run the study again."
    yield from _others(reading)


def _others(reading: Reading) -> Iterable[str]:
    """Which other runs a reader could ask for."""
    every, study = runs(reading.store), study_of(reading.run)
    same = [run for run in every if study_of(run) == study]
    if len(same) > 1:
        which = "the latest" if same[-1].key == reading.run.key else "not the latest"
        yield f"The store holds {len(same)} runs of this study; this is {which}."
    if others := [name for name in studies(reading.store) if name != study]:
        yield f"The store holds other studies too: {listed(others)}. 'assay report --study NAME' shows one."
