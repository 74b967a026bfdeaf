"""A worker process: it computes the artifacts that its driver (``local.py``) sends, until the driver ends.

Memory that a component keeps, or that is scattered, is returned only when a process ends. So a worker ends after a
block that leaves it with too much (``MemoryMark``), and its driver starts another one.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import multiprocessing
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import NamedTuple, Protocol

from assay.core.heap import keep_pages, resident, return_free_memory
from assay.core.machine import Machine
from assay.core.records import Record
from assay.engine.artifacts.artifact import Artifact

_PR_SET_PDEATHSIG = 1  # of prctl(2)


Task = tuple[Artifact, dict[str, Record]]  # an artifact, and the records that it needs


class Last(NamedTuple):
    """The message of a worker that ends now, because it holds too much memory."""

    message: Record | str  # the record, or the traceback of an error that no component raised


class Computing(Protocol):
    """Computes artifacts in a worker: a desk."""

    def compute(self, artifact: Artifact, records: dict[str, Record]) -> Record: ...


OpenDesk = Callable[[Path, Machine], Computing]


class MemoryMark:
    """How much memory a process may keep after a block: what it began with and twice the budget, or twice what it had
    after its first block (imports, the model, its data), whichever is more. The first block never ends a process."""

    def __init__(self, budget: int) -> None:
        self.bytes = resident() + 2 * budget
        self._blocks = 0

    def exceeded(self) -> bool:
        """Called after each block. Free memory is returned to the system first."""
        self._blocks += 1
        if self._blocks == 1:
            self.bytes = max(self.bytes, 2 * resident())
        if resident() <= self.bytes:
            return False
        return_free_memory()
        return resident() > self.bytes


def open_desk(root: Path, machine: Machine) -> Computing:
    """The desk of a worker. Torch is imported here, because the driver does not need it."""
    os.environ.setdefault("OMP_NUM_THREADS", str(machine.threads))
    keep_pages()
    import torch

    from assay.engine.artifacts.desk import Desk
    from assay.engine.store.store import Store

    torch.set_num_threads(machine.threads)
    return Desk(Store(root), machine)


def work(pipe: Connection, in_main_thread: bool, root: Path, machine: Machine, desk: OpenDesk) -> None:
    """Receive tasks and send records until the pipe closes. What components print goes to standard error."""
    os.dup2(2, 1)
    atexit.register(gc.freeze)  # at its end, Python would search all objects of torch for cycles: 0.3 s
    _leave_signals_to_the_driver()
    _end_with_the_driver(in_main_thread)
    computing = desk(root, machine)
    mark = MemoryMark(machine.memory)
    try:
        pipe.send(None)
        while True:
            raw = pipe.recv_bytes()
            pipe.send(None)  # from now on the task is to blame if this process dies
            record = _compute(computing, raw)
            full = mark.exceeded()
            pipe.send(Last(record) if full else record)
            if full:
                return
    except (EOFError, ConnectionError):
        return


def _compute(computing: Computing, raw: bytes) -> Record | str:
    try:
        artifact, records = ForkingPickler.loads(raw)  # imports the code of components, which may fail
        return computing.compute(artifact, records)
    except Exception:
        return traceback.format_exc()


def _leave_signals_to_the_driver() -> None:
    """Ignore signals: an interrupt reaches all processes of a terminal, and only the driver reacts to it."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):  # Windows has no SIGHUP
            signal.signal(getattr(signal, name), signal.SIG_IGN)


def _end_with_the_driver(in_main_thread: bool) -> None:
    """Make sure that the worker ends with the driver, in two ways. A thread exits the process when the driver ends, but
    not while C code holds the interpreter. On Linux, the system kills the process in any case; it does so when the
    thread that started the process ends, so this is used only where that is the main thread."""
    threading.Thread(target=_exit_after_the_driver, daemon=True).start()
    if in_main_thread and sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    driver = multiprocessing.parent_process()
    if driver is None or os.getppid() != driver.pid:  # it ended before it could be watched
        os._exit(1)


def _exit_after_the_driver() -> None:
    driver = multiprocessing.parent_process()
    if driver is not None:
        driver.join()
    os._exit(1)
