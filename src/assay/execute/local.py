"""Computing artifacts in processes of this machine.

Workers are spawned, never forked. They write arrays; records travel to this process (the driver), which alone writes
the log. A worker that dies (segmentation fault, out-of-memory killer) or takes too long is one failed record, and is
replaced. Workers end with their driver, whatever ends it.
"""

from __future__ import annotations

import atexit
import multiprocessing
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from assay.artifacts.outcome import failed
from assay.core.errors import AssayError
from assay.core.machine import Machine
from assay.core.pages import start_without_cache
from assay.core.records import Record
from assay.execute.queue import Queue
from assay.execute.worker import OpenDesk, Task, open_desk, work

GRACE = 0.5  # seconds that workers have to end when the driver is done with them
LOOK = 1.0  # seconds between two looks at workers that say nothing
FALSE_STARTS = 3  # workers in a row that die before they can begin, until the run is given up

_spawn = multiprocessing.get_context("spawn")


@dataclass(frozen=True)
class Local:
    """A pool of worker processes."""

    root: Path  # of the store
    workers: int = 1
    machine: Machine = Machine()
    timeout: float | None = None  # seconds for one artifact
    desk: OpenDesk = open_desk  # called in every worker

    def run(self, queue: Queue) -> Iterator[Record]:
        """The records of all artifacts, in any order."""
        if not queue:
            return
        team = _Team(queue, self.timeout)
        start_without_cache()
        # multiprocessing asks workers politely at exit, waits for them, and waits forever for one that is busy.
        atexit.register(team.stop)
        try:
            team.begin(max(1, self.workers), (self.root, self.machine, self.desk))
            yield from team.records()
        finally:
            atexit.unregister(team.stop)
            team.stop()


@dataclass(eq=False)
class _Worker:
    """One process, and the task that it works on."""

    arguments: tuple[Path, Machine, OpenDesk]
    ready: bool = False  # it has imported what it needs, and reads tasks
    task: Task | None = None
    since: float = 0.0  # when it got the task
    process: BaseProcess = field(init=False)
    pipe: Connection = field(init=False)

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        """A new process; what the one before was working on is forgotten."""
        self.ready, self.task = False, None
        self.pipe, theirs = _spawn.Pipe()
        in_main_thread = threading.current_thread() is threading.main_thread()
        self.process = _spawn.Process(target=work, args=(theirs, in_main_thread, *self.arguments), daemon=True)
        self.process.start()
        theirs.close()

    def give(self, task: Task) -> bool:
        """False where the worker died while it had nothing to do: another one can have the task."""
        if self.process.exitcode is not None:
            return False
        try:
            self.pipe.send(task)
        except ConnectionError:
            return False
        self.task, self.since = task, time.monotonic()
        return True

    def end(self, grace: float) -> str:
        """Make sure that the process is gone, if need be by a kill; how it ended."""
        self.pipe.close()
        self.process.join(grace)
        self.process.kill()
        self.process.join()
        code = self.process.exitcode
        return f"signal {-code}, {signal.Signals(-code).name}" if code and code < 0 else f"exit code {code}"


class _Team:
    """The workers of one run."""

    def __init__(self, queue: Queue, timeout: float | None) -> None:
        self.queue, self.timeout = queue, timeout
        self.workers: list[_Worker] = []
        self.task: Task | None = None  # the next one, for the first worker that is free
        self.false_starts = 0

    def begin(self, count: int, arguments: tuple[Path, Machine, OpenDesk]) -> None:
        for _ in range(count):
            self.workers.append(_Worker(arguments))

    def records(self) -> Iterator[Record]:
        made: list[Record] = []
        while True:
            self._hand_out()
            yield from made  # whoever stores them keeps no worker waiting
            if self.task is None and all(worker.task is None for worker in self.workers):
                return
            made = self._listen()

    def _hand_out(self) -> None:
        for worker in self.workers:
            self.task = self.task or self.queue.next()
            if self.task is None:
                return
            if worker.ready and worker.task is None:
                if worker.give(self.task):
                    self.task = None
                else:
                    self._replace(worker)

    def _listen(self) -> list[Record]:
        """The records of workers that are done, dead or late, after some time at most."""
        heard = [worker for worker in self.workers if worker.task is not None or not worker.ready]
        wait([worker.pipe for worker in heard], self._patience())
        found = [record for worker in heard if (record := self._hear(worker)) is not None]
        for record in found:
            self.queue.learn(record)
        return found

    def _patience(self) -> float:
        if self.timeout is None:
            return LOOK
        late = [worker.since + self.timeout - time.monotonic() for worker in self.workers if worker.task is not None]
        return max(0.0, min([LOOK, *late]))

    def _hear(self, worker: _Worker) -> Record | None:
        # Asked before the pipe is read: what a dead worker sent is in there. A process that it left behind may hold
        # the pipe open, so that its end alone does not tell.
        dead = worker.process.exitcode is not None
        if worker.pipe.poll():
            try:
                return self._done(worker, worker.pipe.recv())
            except (EOFError, ConnectionError):
                dead = True
        if dead:
            return self._replace(worker)
        if worker.task is not None and self.timeout is not None and time.monotonic() - worker.since >= self.timeout:
            worker.process.kill()
            return self._replace(worker, f"took longer than {self.timeout:g} s and was stopped: see --timeout")
        return None

    def _done(self, worker: _Worker, message: Record | str | None) -> Record | None:
        """A record; None from a worker that can begin; or the traceback of an error that is not a component's."""
        if worker.task is None:
            worker.ready, self.false_starts = True, 0
            return None
        (artifact, _), worker.task = worker.task, None
        if isinstance(message, Record):
            return message
        reason = str(message).rstrip().rpartition("\n")[2]
        return failed(artifact.kind, artifact.key, reason, str(message))

    def _replace(self, worker: _Worker, reason: str = "") -> Record | None:
        """The failed record of what the worker was working on, if it was."""
        task, cause = worker.task, worker.end(GRACE)
        if not worker.ready:
            self._count_false_start(cause)
        worker.start()
        if task is None:
            return None
        artifact, _ = task
        return failed(artifact.kind, artifact.key, reason or f"the worker died ({cause}) while it computed this")

    def _count_false_start(self, cause: str) -> None:
        self.false_starts += 1
        if self.false_starts == FALSE_STARTS:
            raise AssayError(
                f"worker processes end before they can begin ({cause}); an error above may say why. A script that "
                "asks for workers does so under 'if __name__ == \"__main__\":'. --workers 0 computes in this process."
            )

    def stop(self) -> None:
        """Workers that have nothing to do end when their pipe is closed; the others are killed after a while."""
        for worker in self.workers:
            worker.pipe.close()
        until = time.monotonic() + GRACE
        for worker in self.workers:
            worker.end(max(0.0, until - time.monotonic()))
