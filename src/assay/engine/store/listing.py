"""The runs in a store: what each one recorded, and which is still running."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from assay.core.records import printable
from assay.engine.store.arrays import Arrays
from assay.engine.store.files import Step, no_step
from assay.engine.store.lease import running
from assay.engine.store.log import Line, lines, logs

State = Literal["finished", "running", "silent", "stopped"]
PATIENCE = 3.0  # seconds to wait for a sign of life of a run on another machine


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
    holder, is_sure = running(root, PATIENCE) or (None, False)
    arrays, summaries, paths = Arrays(root / "arrays"), [], logs(root / "logs")
    for number, (run_id, path) in enumerate(paths.items()):
        step(number, len(paths))
        counts, digests, study = Counter[str](), set[str](), None
        for line in lines(path):
            if (head := line.head) is not None:
                counts[head.status] += 1
                digests.add(head.arrays)
                study = _finished_study(run_id, line) if head.kind == "run" else study
        state: State = "finished" if study is not None else "stopped"
        if holder is not None and run_id == holder.run and study is None:
            study, state = holder.study, "running" if is_sure else "silent"
        statuses = {status: counts[status] for status in ("ok", "skipped", "failed")}
        size = path.stat().st_size + _bytes(arrays, digests)
        summaries.append(RunSummary(run_id, study or "", _began(run_id), state, counts.total(), statuses, size))
    return summaries


def _finished_study(run_id: str, line: Line) -> str | None:
    """The study's name, from the record of a run that came to its end."""
    record = line.record
    if record is None or record.data.get("run") != run_id:
        return None
    study = record.data.get("study")
    return printable(str(study.get("name", "") if isinstance(study, dict) else ""), 200)


def _began(run_id: str) -> str:
    try:
        return datetime.strptime(run_id[:15], "%Y%m%dT%H%M%S").strftime("%Y-%m-%d %H:%M:%S")
    except ValueError:
        return ""


def _bytes(arrays: Arrays, digests: set[str]) -> int:
    return sum(arrays.path(digest).stat().st_size for digest in arrays.present(digests - {""}))
