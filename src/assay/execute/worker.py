"""A worker process: it computes the artifacts that its driver (``execute/local.py``) sends, and ends with it."""

from __future__ import annotations

import ctypes
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
from typing import Protocol

from assay.artifacts.artifact import Artifact
from assay.core.machine import Machine
from assay.core.pages import keep_pages
from assay.core.records import Record

_PR_SET_PDEATHSIG = 1  # of prctl(2)


Task = tuple[Artifact, dict[str, Record]]  # an artifact, and the records that it needs


class Computing(Protocol):
    """What computes artifacts in a worker."""

    def compute(self, artifact: Artifact, records: dict[str, Record]) -> Record: ...


OpenDesk = Callable[[Path, Machine], Computing]


def open_desk(root: Path, machine: Machine) -> Computing:
    """The desk of a worker. It needs torch, which the driver may do without."""
    os.environ.setdefault("OMP_NUM_THREADS", str(machine.threads))
    keep_pages()
    import torch

    from assay.artifacts.desk import Desk
    from assay.store.store import Store

    torch.set_num_threads(machine.threads)
    return Desk(Store(root), machine)


def work(pipe: Connection, in_main_thread: bool, root: Path, machine: Machine, desk: OpenDesk) -> None:
    """A worker's life: tasks come in, records go out; it ends when the pipe closes."""
    _leave_signals_to_the_driver()
    _end_with_the_driver(in_main_thread)
    computing = desk(root, machine)
    try:
        pipe.send(None)
        while True:
            pipe.send(_answer(computing, pipe.recv_bytes()))
    except (EOFError, ConnectionError):
        return


def _answer(computing: Computing, raw: bytes) -> Record | str:
    try:
        artifact, records = ForkingPickler.loads(raw)  # imports the code of components, which may fail
        return computing.compute(artifact, records)
    except Exception:
        return traceback.format_exc()


def _leave_signals_to_the_driver() -> None:
    """An interrupt reaches all processes of a terminal; what it means is the driver's decision."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):  # Windows has no SIGHUP
            signal.signal(getattr(signal, name), signal.SIG_IGN)


def _end_with_the_driver(in_main_thread: bool) -> None:
    """Two means: a thread notices the driver's end in any process that runs Python; on Linux the system kills even one
    that is caught in C code. The latter is bound to the thread that started the process: it counts for the main thread,
    which lives as long as the driver."""
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
