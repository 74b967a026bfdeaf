"""Cost of the engine itself: planning many blocks, checking that all are complete, and a block of trivial work."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from assay.core.evidence import Evidence
from assay.core.features import Columns
from assay.core.query import Query
from assay.core.question import Question
from assay.core.records import Record
from assay.core.setting import Samples, Setting
from assay.core.trial import Trial
from assay.engine.execute.grid import grid
from assay.engine.execute.plan import plan
from assay.engine.execute.run import run
from assay.engine.store.store import Store
from assay.studies.file import read
from assay.studies.study import Study
from benchmarks.measuring import Measured

BLOCKS = 20_000
COMPUTED_BLOCKS = 500


@dataclass(frozen=True)
class Zeros:
    """An environment: two columns of zeros and a linear layer."""

    draws_model: ClassVar[bool] = False

    def setting(self, _seed: int, _weights: Mapping[str, Tensor]) -> Setting:
        question = Question("value", 1.0, "zero", "label")
        return Setting(nn.Linear(2, 1, bias=False), Columns.plain(2), "table", question, outputs="value")

    def sample(self, indices: Sequence[int], _seed: int) -> Samples:
        count = len(indices)
        return Samples(torch.zeros(count, 2), torch.zeros(count, dtype=torch.long), None, tuple(indices))


@dataclass(frozen=True)
class Echo:
    """A method that returns the input."""

    def __call__(self, query: Query) -> Tensor:
        return query.x


@dataclass(frozen=True)
class ZeroScore:
    """A metric that gives every sample 0."""

    needs: ClassVar[tuple[str, ...]] = ()

    def __call__(self, trial: Trial) -> Evidence:
        return Evidence({"value": np.zeros(len(trial))})


def problems() -> list[Measured]:
    return [
        Cost(f"{BLOCKS:,} blocks planned", _seconds_to_plan, "at most 5 s"),
        Cost(f"{BLOCKS:,} blocks found complete", _seconds_to_find_complete, "at most 5 s"),
        Cost(f"a trivial block in one process, mean of {COMPUTED_BLOCKS}", _seconds_per_block, "at most 3 ms"),
    ]


@dataclass(frozen=True)
class Cost:
    """Wall time of work that no peer does."""

    statement: str
    measure: Callable[[Path], float]  # folder of a new store -> seconds
    limit: str  # what it may take, printed where other problems have their ratio to the peer

    def rows(self, task: str, repeats: int) -> list[dict[str, Any]]:
        with tempfile.TemporaryDirectory() as folder:
            times = [self.measure(Path(folder) / str(attempt)) for attempt in range(repeats)]
        best = min(times)
        figure = f"{best:.2f} s" if best > 0.1 else f"{best * 1e3:.2f} ms"
        return [
            {
                "task": task,
                "problem": self.statement,
                "repeats": repeats,
                "who": "assay",
                "seconds": best,
                "figure": figure,
                "ratio": self.limit,
                "note": "wall time of the quickest run: other load on the machine only adds",
            }
        ]


def study(blocks: int) -> Study:
    """One method, one metric, one sample per block."""
    environment = {"use": "benchmarks.engine:Zeros", "samples": blocks, "block": 1}
    components = {"methods": ["benchmarks.engine:Echo"], "metrics": ["benchmarks.engine:ZeroScore"]}
    return read({"environments": [environment], **components, "gallery": 0}, "engine")


def _seconds_to_plan(folder: Path) -> float:
    large, store = study(BLOCKS), Store.open(folder)
    start = time.perf_counter()
    todo = plan(grid(large), store)
    assert dict(todo.kinds) == {"trial": BLOCKS, "evidence": BLOCKS, "score": 1}
    return time.perf_counter() - start


def _seconds_to_find_complete(folder: Path) -> float:
    large, store = study(BLOCKS), Store.open(folder, sync=False)
    arrays = store.save({"attribution": np.zeros((1, 2), dtype=np.float32)})
    for artifact in grid(large).wanted:
        store.put(Record(artifact.kind, artifact.key, "ok", arrays=arrays))
    store.close()
    reopened = Store.open(folder)
    start = time.perf_counter()
    assert not plan(grid(large), reopened).artifacts
    return time.perf_counter() - start


def _seconds_per_block(folder: Path) -> float:
    start = time.perf_counter()
    finished = run(study(COMPUTED_BLOCKS), folder)
    assert len(finished.plan.artifacts) == 2 * COMPUTED_BLOCKS + 1
    return (time.perf_counter() - start) / COMPUTED_BLOCKS
