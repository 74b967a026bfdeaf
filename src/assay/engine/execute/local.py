"""Computing artifacts in processes of this machine.

Workers are spawned, never forked. They write arrays and send records to this process (the driver), which alone writes
the log. A worker that dies (segmentation fault, out-of-memory killer) or takes too long leaves one failed record and is
replaced. So is one that ends because it holds too much memory. Workers end when their driver ends, for whatever reason.
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

from assay.core.errors import AssayError
from assay.core.heap import start_without_cache
from assay.core.machine import Machine
from assay.core.records import Record
from assay.engine.artifacts.outcome import failed_record
from assay.engine.execute.queue import Queue
from assay.engine.execute.worker import Last, OpenDesk, Task, open_desk, work

GRACE = 0.5  # seconds until a worker that should end is killed
POLL = 1.0  # most seconds to wait for messages before workers are checked
KILLED = ". The system kills a process when memory runs out: try fewer --workers, a smaller --memory or smaller inputs"
FALSE_STARTS = 3  # workers in a row that die before they are ready, until the run stops

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
        # At exit, multiprocessing would wait for its workers without end; a busy one is killed here.
        atexit.register(team.stop)
        try:
            team.begin(min(max(1, self.workers), len(queue)), (self.root, self.machine, self.desk))
            yield from team.records()
        finally:
            atexit.unregister(team.stop)
            team.stop()


@dataclass(eq=False)
class _Worker:
    """A worker process and its current task."""

    arguments: tuple[Path, Machine, OpenDesk]
    ready: bool = False  # its imports are done and it reads tasks
    task: Task | None = None
    begun: bool = False  # it has confirmed that it has the task
    task_start: float = 0.0  # when it got the task
    process: BaseProcess = field(init=False)
    pipe: Connection = field(init=False)

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        """Start a new process; the task of the one before is dropped."""
        self.ready, self.task = False, None
        self.pipe, worker_end = _spawn.Pipe()
        in_main_thread = threading.current_thread() is threading.main_thread()
        self.process = _spawn.Process(target=work, args=(worker_end, in_main_thread, *self.arguments), daemon=True)
        self.process.start()
        worker_end.close()

    def assign(self, task: Task) -> bool:
        """Send the task. False where the worker died while idle; the task is then free for another one."""
        if self.process.exitcode is not None:
            return False
        try:
            self.pipe.send(task)
        except ConnectionError:
            return False
        self.task, self.begun, self.task_start = task, False, time.monotonic()
        return True

    def end(self, grace: float) -> str:
        """End the process, by a kill after ``grace`` seconds; returns how it ended."""
        self.pipe.close()
        self.process.join(grace)
        self.process.kill()
        self.process.join()
        code = self.process.exitcode
        return f"signal {-code}, {signal.Signals(-code).name}" if code and code < 0 else f"exit code {code}"


def timeout_reason(timeout: float) -> str:
    """The reason of an artifact that was stopped."""
    return f"took longer than {timeout:g} s and was stopped: see --timeout"


class _Team:
    """The workers of one run."""

    def __init__(self, queue: Queue, timeout: float | None) -> None:
        self.queue, self.timeout = queue, timeout
        self.workers: list[_Worker] = []
        self.task: Task | None = None  # the next one, for the first worker that is free
        self.returned: list[Task] = []  # of workers that died before they had begun
        self.false_starts = 0

    def begin(self, count: int, arguments: tuple[Path, Machine, OpenDesk]) -> None:
        for _ in range(count):
            self.workers.append(_Worker(arguments))

    def records(self) -> Iterator[Record]:
        records: list[Record] = []
        while True:
            self._assign_tasks()
            yield from records  # after the workers got new tasks: they do not wait while these are stored
            if self.task is None and all(worker.task is None for worker in self.workers):
                return
            records = self._collect_records()

    def _assign_tasks(self) -> None:
        for worker in self.workers:
            self.task = self.task or (self.returned.pop() if self.returned else self.queue.next())
            if self.task is None:
                return
            if worker.ready and worker.task is None:
                if worker.assign(self.task):
                    self.task = None
                else:
                    self._replace(worker)

    def _collect_records(self) -> list[Record]:
        """Wait for messages, then return the records of workers that are done, dead or late."""
        active = [worker for worker in self.workers if worker.task is not None or not worker.ready]
        wait([worker.pipe for worker in active], self._seconds_to_wait())
        records = [record for worker in active if (record := self._check_worker(worker)) is not None]
        for record in records:
            self.queue.add_record(record)
        return records

    def _seconds_to_wait(self) -> float:
        if self.timeout is None:
            return POLL
        remaining = [
            worker.task_start + self.timeout - time.monotonic() for worker in self.workers if worker.task is not None
        ]
        return max(0.0, min([POLL, *remaining]))

    def _check_worker(self, worker: _Worker) -> Record | None:
        # The exit code is read first: then the pipe holds all that a dead worker sent. The pipe's end is not enough to
        # notice its death, because a process that the worker left behind may hold the pipe open.
        dead = worker.process.exitcode is not None
        if worker.pipe.poll():
            try:
                return self._handle_message(worker, worker.pipe.recv())
            except (EOFError, ConnectionError):
                dead = True
        if dead:
            return self._replace(worker)
        if (
            worker.task is not None
            and self.timeout is not None
            and time.monotonic() - worker.task_start >= self.timeout
        ):
            worker.process.kill()
            return self._replace(worker, timeout_reason(self.timeout))
        return None

    def _handle_message(self, worker: _Worker, message: Last | Record | str | None) -> Record | None:
        """A record, None from a worker that is ready or begins its task, or the traceback of an error that no component
        raised; the last one of a worker that ends now is marked."""
        if isinstance(message, Last):
            record = self._handle_message(worker, message.message)
            self._replace(worker)
            return record
        if message is None:
            worker.begun = worker.task is not None
            worker.ready, self.false_starts = True, 0
            return None
        assert worker.task is not None
        (artifact, _), worker.task = worker.task, None
        if isinstance(message, Record):
            return message
        reason = str(message).rstrip().rpartition("\n")[2]
        return failed_record(artifact.kind, artifact.key, reason, str(message))

    def _replace(self, worker: _Worker, reason: str = "") -> Record | None:
        """Start a new process for a dead worker; returns the failed record of the task that it had begun, if any."""
        task, begun, cause = worker.task, worker.begun, worker.end(GRACE)
        if not worker.ready:
            self._count_false_start(cause)
        worker.start()
        if task is None:
            return None
        if not begun and not reason:
            self.returned.append(task)
            return None
        artifact, _ = task
        died = f"the worker died ({cause}) while it computed this{KILLED if 'SIGKILL' in cause else ''}"
        return failed_record(artifact.kind, artifact.key, reason or died)

    def _count_false_start(self, cause: str) -> None:
        self.false_starts += 1
        if self.false_starts == FALSE_STARTS:
            raise AssayError(
                f"worker processes end before they can begin ({cause}); an error above may say why. A script that "
                "asks for workers does so under 'if __name__ == \"__main__\":'. --workers 0 computes in this process."
            )

    def stop(self) -> None:
        """End all workers: idle ones end when their pipe is closed, busy ones are killed after ``GRACE`` seconds."""
        for worker in self.workers:
            worker.pipe.close()
        deadline = time.monotonic() + GRACE
        for worker in self.workers:
            worker.end(max(0.0, deadline - time.monotonic()))
