"""The runs in a store: what each one recorded, and which are still running."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from assay.core.records import Record, printable
from assay.store.arrays import Arrays
from assay.store.files import Step, no_step
from assay.store.log import lines, logs
from assay.store.running import running_runs

State = Literal["finished", "running", "silent", "stopped"]
PATIENCE = 3.0  # seconds to wait for a sign of life of runs on other machines


@dataclass(frozen=True)
class RunSummary:
    """One run; ``silent`` is one that may be running, but gave no sign of life."""

    run: str
    study: str  # empty where the run stopped before its end
    began: str  # UTC, by the clock of its machine
    state: State
    records: int
    statuses: dict[str, int]  # ok, skipped, failed
    bytes: int  # of its log and of the arrays that it names; runs may name the same


def list_runs(root: Path, step: Step = no_step) -> list[RunSummary]:
    """All runs, the earliest first."""
    running = {run.run: (run.study, sure) for run, sure in running_runs(root, PATIENCE).items()}
    arrays, summaries, paths = Arrays(root / "arrays"), [], logs(root / "logs")
    for number, (run_id, path) in enumerate(paths.items()):
        step(number, len(paths))
        records = [line.record for line in lines(path) if line.record is not None]
        study = _finished_study(run_id, records)
        state: State = "finished" if study is not None else "stopped"
        if run_id in running and study is None:
            study, state = running[run_id][0], "running" if running[run_id][1] else "silent"
        counts = Counter(record.status for record in records)
        statuses = {status: counts[status] for status in ("ok", "skipped", "failed")}
        size = path.stat().st_size + _bytes(arrays, {record.arrays for record in records})
        summaries.append(RunSummary(run_id, study or "", _began(run_id), state, len(records), statuses, size))
    return summaries


def _finished_study(run_id: str, records: list[Record]) -> str | None:
    """The study's name, in the last record of a run that came to its end."""
    for record in reversed(records):
        if record.kind == "run" and record.data.get("run") == run_id:
            study = record.data.get("study")
            return printable(str(study.get("name", "") if isinstance(study, dict) else ""), 200)
    return None


def _began(run_id: str) -> str:
    try:
        return datetime.strptime(run_id[:15], "%Y%m%dT%H%M%S").strftime("%Y-%m-%d %H:%M:%S")
    except ValueError:
        return ""


def _bytes(arrays: Arrays, digests: set[str]) -> int:
    return sum(arrays.path(digest).stat().st_size for digest in arrays.present(digests - {""}))
