"""Running jobs in processes of this machine.

Workers are spawned, never forked. A worker that dies (segmentation fault, out-of-memory killer) is one failed record:
the one it was working on; it is replaced, and what was left of its job goes on. Workers write arrays; records travel to
this process, which alone writes the log.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from assay.artifacts.artifact import Artifact
from assay.artifacts.outcome import failed
from assay.core.machine import Machine
from assay.core.pages import keep_pages
from assay.core.records import Record
from assay.execute.queue import Queue
from assay.store.store import Store

_spawn = multiprocessing.get_context("spawn")


@dataclass(frozen=True)
class Local:
    """A pool of worker processes."""

    root: Path  # of the store
    workers: int = 1
    machine: Machine = Machine()
    timeout: float | None = None

    def run(self, queue: Queue) -> Iterator[Record]:
        team = [_Worker(self.root, self.machine) for _ in range(max(1, self.workers))]
        try:
            yield from _drive(queue, team)
        finally:
            for worker in team:
                worker.stop()


@dataclass
class _Worker:
    """One process, the job it works on, and the records it has delivered for it."""

    root: Path
    machine: Machine
    job: Artifact | None = None
    delivered: dict[str, Record] = field(default_factory=dict)
    process: BaseProcess = field(init=False)
    pipe: Connection = field(init=False)

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        self.pipe, theirs = _spawn.Pipe()
        self.process = _spawn.Process(target=work, args=(theirs, self.root, self.machine), daemon=True)
        self.process.start()
        theirs.close()

    def give(self, job: Artifact, records: dict[str, Record]) -> None:
        if not self.process.is_alive():
            self.start()  # it died between two jobs: nobody's result is lost
        self.job, self.delivered = job, {}
        self.pipe.send((job, records))

    def stop(self) -> None:
        self.pipe.close()
        self.process.join(timeout=0.5)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


def _drive(queue: Queue, team: list[_Worker]) -> Iterator[Record]:
    while True:
        for worker in team:
            if worker.job is None and (found := queue.next()) is not None:
                worker.give(*found)
        busy = [worker for worker in team if worker.job is not None]
        if not busy:
            return
        ready = wait([worker.pipe for worker in busy])
        for worker in busy:
            if worker.pipe in ready:
                for record in _listen(worker, queue):
                    queue.learn(record)
                    yield record


def _listen(worker: _Worker, queue: Queue) -> Iterator[Record]:
    """What a worker has to say: a record, that it is done, or (its pipe is closed) that it is dead."""
    try:
        message = worker.pipe.recv()
    except (EOFError, ConnectionError):
        yield from _bury(worker, queue)
        return
    if message is None:
        worker.job = None
    else:
        worker.delivered[message.key] = message
        yield message


def _bury(worker: _Worker, queue: Queue) -> Iterator[Record]:
    """Blame the first record that is missing, put the rest of the job back, and replace the worker."""
    job, done = worker.job, worker.delivered
    assert job is not None
    worker.process.join()
    reason = f"the worker died ({_cause(worker.process.exitcode)}) while it computed this"
    worker.job = None
    worker.start()
    if job.key not in done:
        yield failed(job.kind, job.key, reason)


def _cause(code: int | None) -> str:
    if code is not None and code < 0:
        return f"signal {-code}, {signal.Signals(-code).name}"
    return f"exit code {code}"


def work(pipe: Connection, root: Path, machine: Machine) -> None:
    """A worker's life: jobs come in, records go out; it ends when the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupt means
    os.environ.setdefault("OMP_NUM_THREADS", str(machine.threads))
    keep_pages()
    import torch

    from assay.artifacts.desk import Desk

    torch.set_num_threads(machine.threads)
    desk = Desk(Store(root), machine)
    try:
        while True:
            job, records = pipe.recv()
            pipe.send(desk.compute(job, records))
            pipe.send(None)
    except (EOFError, BrokenPipeError, ConnectionError):
        return
