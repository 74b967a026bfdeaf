"""What runs in a Dask worker: it computes artifacts and returns their records to the driver (``dask.py``)."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import distributed
import numpy as np
from safetensors.numpy import load as decode

from assay.core.errors import AssayError
from assay.core.machine import Machine
from assay.core.records import Record
from assay.engine.artifacts.artifact import Arrays
from assay.engine.artifacts.desk import Desk
from assay.engine.execute.worker import Task, open_desk
from assay.engine.store.arrays import encode

LATE = "assay-late"  # the topic under which workers tell the driver which task took too long

_one_at_a_time = threading.Lock()  # a desk serves one computation; a worker may have several threads


@dataclass(frozen=True)
class Job:
    """What all tasks of a run have in common."""

    root: Path  # of the store
    machine: Machine
    timeout: float | None  # seconds for one artifact
    version: str  # of this package in the driver
    token: str  # of the run
    carries: bool  # arrays travel with tasks and results: workers do not see the store's folder


def package_version() -> str:
    return version("assay-xai")


def sees(mark: str) -> bool:
    """Whether this worker sees the driver's folder: a file that the driver has just written is there."""
    return Path(mark).is_file()


def compute(tasks: Sequence[Task], job: Job, arrays: Mapping[str, bytes]) -> list[tuple[Record, bytes]]:
    """The artifacts' records, each with its arrays as bytes where they have to travel."""
    if package_version() != job.version:
        raise AssayError(
            f"this worker has assay {package_version()}, the driver has {job.version}: install one version"
        )
    return [_compute_one(task, job, arrays) for task in tasks]


def _compute_one(task: Task, job: Job, arrays: Mapping[str, bytes]) -> tuple[Record, bytes]:
    artifact, records = task
    with _one_at_a_time, _time_limit(job, artifact.key):
        desk = _desk(job.root, job.machine)
        if not job.carries:
            return desk.compute(artifact, records), b""
        parcel = Parcel(arrays)
        record = replace(desk, store=parcel).compute(artifact, records)
        return record, parcel.packed.get(record.arrays, b"")


@lru_cache(maxsize=1)
def _desk(root: Path, machine: Machine) -> Desk:
    """Kept from task to task, with the components, settings and samples at hand."""
    desk = open_desk(root, machine)
    assert isinstance(desk, Desk)
    return desk


class Parcel:
    """The arrays of one task: those that it needs, and those that it makes."""

    def __init__(self, arrays: Mapping[str, bytes]) -> None:
        self.packed = dict(arrays)

    def save(self, arrays: Arrays) -> str:
        data = encode(arrays)
        digest = hashlib.sha256(data).hexdigest()
        self.packed[digest] = data
        return digest

    def load(self, record: Record) -> dict[str, np.ndarray[Any, Any]]:
        if not record.arrays:
            return {}
        return {name: np.require(array, requirements="W") for name, array in decode(self.packed[record.arrays]).items()}


@contextmanager
def _time_limit(job: Job, key: str) -> Iterator[None]:
    """Ends this process when the computation takes too long; Dask's nanny starts another one. The driver is told
    first, so that the task is not tried again."""
    if job.timeout is None:
        yield
        return
    worker = distributed.get_worker()

    def end() -> None:
        worker.log_event(LATE, {"token": job.token, "key": key})
        time.sleep(1.0)  # until the message is on its way
        os._exit(1)

    timer = threading.Timer(job.timeout, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
