"""Scaling: the same blocks in one process, in two, and on two Dask workers of this machine; and what a trivial block
costs there.

A run is timed from the moment at which every worker has finished a block. What comes before (starting processes,
importing torch) is measured apart and printed beside the rate.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import torch
from torch import Tensor

from assay.core.errors import AssayError
from assay.core.machine import Resources
from assay.core.query import Query
from assay.core.records import Record
from assay.engine.execute.run import run
from assay.studies.file import read
from assay.studies.study import Study
from benchmarks.engine import study as trivial_study
from benchmarks.measuring import Measured

ENGINES = {
    "local, 1 process": Resources(1),
    "local, 2 processes": Resources(2),
    "Dask, 2 workers": Resources(2, cluster=""),
}
ONE, TWO, DASK = ENGINES
BLOCKS = 120
TRIVIAL_BLOCKS = 1_000
COMPARED = {TWO: (ONE, "at least 1.7"), DASK: (TWO, "at least 0.9")}  # with what, and how it should end
NOTE = "wall time, one thread a process, counted from the moment at which every worker has finished a block"


@dataclass(frozen=True)
class Products:
    """A method that computes: products of small matrices, which stay in a core's own cache."""

    products: int = 2500

    def __call__(self, query: Query) -> Tensor:
        matrix = factor = torch.eye(128)
        for _ in range(self.products):
            matrix = matrix @ factor
        return query.x * matrix[0, 0]


def study(blocks: int) -> Study:
    """One sample per block."""
    environment = {"use": "benchmarks.engine:Zeros", "samples": blocks, "block": 1}
    components = {"methods": ["benchmarks.scale:Products"], "metrics": ["benchmarks.engine:ZeroScore"]}
    return read({"environments": [environment], **components, "gallery": 0}, "scale")


def problems() -> list[Measured]:
    return [Rates(BLOCKS), Overhead(TRIVIAL_BLOCKS)]


@dataclass
class Stopwatch:
    """Watches a run. A block is done when its evidence is stored."""

    workers: int
    start: float = field(default_factory=time.perf_counter)
    ready: float = 0.0  # when every worker had finished a block
    end: float = 0.0
    blocks: int = 0  # since then
    processes: set[int] = field(default_factory=set)

    def __call__(self, record: Record | None, *_: object) -> None:
        if record is None or record.kind != "evidence":
            return
        if record.status != "ok":
            raise AssayError(f"the benchmark's own block failed: {record.reason}")
        now = time.perf_counter()
        if len(self.processes) < self.workers:
            self.processes.add(record.origin["pid"])
            self.ready = now
        else:
            self.blocks += 1
            self.end = now

    @property
    def seconds_per_block(self) -> float:
        return (self.end - self.ready) / self.blocks

    @property
    def startup(self) -> float:
        return self.ready - self.start


def watched(work: Study, resources: Resources) -> Stopwatch:
    """Run the study into a new store."""
    with tempfile.TemporaryDirectory() as folder:
        stopwatch = Stopwatch(resources.workers)
        run(work, Path(folder) / "store", resources, stopwatch)
    return stopwatch


def repeated(work: Study, repeats: int) -> dict[str, list[Stopwatch]]:
    """All engines in turn, so that other load on the machine affects all of them."""
    turns = [{name: watched(work, resources) for name, resources in ENGINES.items()} for _ in range(repeats)]
    return {name: [turn[name] for turn in turns] for name in ENGINES}


@dataclass(frozen=True)
class Rates:
    """Blocks per second on a compute-bound grid."""

    blocks: int

    def rows(self, task: str, repeats: int) -> list[dict[str, Any]]:
        runs = repeated(study(self.blocks), repeats)
        rates = {name: [1 / each.seconds_per_block for each in stopwatches] for name, stopwatches in runs.items()}
        common = {"task": task, "problem": f"{self.blocks} blocks of computation", "repeats": repeats, "note": NOTE}
        rows = []
        for name in ENGINES:
            rate, startup = median(rates[name]), median(each.startup for each in runs[name])
            figure = f"{rate:.2f} blocks/s, ready after {startup:.1f} s"
            row = {"who": name, "rate": rate, "startup": startup, "figure": figure, "ratio": ""}
            if name in COMPARED:
                other, bar = COMPARED[name]
                share = median(a / b for a, b in zip(rates[name], rates[other], strict=True))
                row |= {"share": share, "ratio": f"{share:.2f} of {other} ({bar})"}
            rows.append({**common, **row})
        return rows


@dataclass(frozen=True)
class Overhead:
    """Wall time of a trivial block: a trial and its evidence."""

    blocks: int

    def rows(self, task: str, repeats: int) -> list[dict[str, Any]]:
        runs = repeated(trivial_study(self.blocks), repeats)
        problem = f"a trivial block, mean of {self.blocks:,}, the quickest of {repeats} runs"
        rows = []
        for name, stopwatches in runs.items():
            seconds = min(each.seconds_per_block for each in stopwatches)
            bar = "at most 20 ms" if name == DASK else ""
            row = {"who": name, "seconds": seconds, "figure": f"{seconds * 1e3:.2f} ms", "ratio": bar, "note": NOTE}
            rows.append({"task": task, "problem": problem, "repeats": repeats, **row})
        return rows
