"""Whose turn it is: runs write into a store one after the other.

A run that begins makes the file ``running/<number>.json``; the highest number has the turn, until it says that it has
ended, or is dead. The next run then makes the file of the next number: of several that try, one succeeds. (File locks
fail on network file systems, and clocks of machines differ.)

The run writes its file anew about every second, with a count. Another process takes it to be alive as long as the count
changes, by its own clock. On the machine of the run, a process that has ended is known at once.

A run that was stopped for longer than ``SILENCE`` may lose its turn and goes on when it wakes up. That harms nothing:
each run has a log of its own, and what both compute has equal bytes.
"""

from __future__ import annotations

import os
import platform
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path

import psutil

from assay.core.records import canonical, printable
from assay.engine.store.files import Step, create, no_step, read_json, write_atomically

BEAT = 1.0  # seconds between two writes of a run's file
SILENCE = 60.0  # seconds without a change after which a run is dead; network file systems show changes late
_POLL = 0.2  # seconds between two looks at it
_QUIET = 2.0  # seconds after which a wait is announced
_SUFFIX = ".json"


@dataclass(frozen=True)
class Lease:
    """What a run's file says."""

    run: str = ""
    study: str = ""
    host: str = ""
    machine: str = ""  # where process ids mean the same
    pid: int = 0
    count: int = 0  # of the times the file was written
    ended: bool = False

    @property
    def name(self) -> str:
        return f"{self.run}, {self.host}, process {self.pid}"

    @property
    def is_over(self) -> bool:
        """True if the run has ended, or its process was on this machine and is gone. False says nothing."""
        if self.ended or self.machine != this_machine():
            return self.ended
        try:
            return bool(psutil.Process(self.pid).status() == psutil.STATUS_ZOMBIE)
        except psutil.Error as error:
            return isinstance(error, psutil.NoSuchProcess)


def this_run(run: str, study: str) -> Lease:
    return Lease(run, study, platform.node(), this_machine(), os.getpid())


@cache
def this_machine() -> str:
    """Equal for two processes only if they see the same processes. Host names repeat, so the boot's id is added, and
    containers of one host have process ids of their own."""
    parts = [platform.node()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
        parts.append(os.readlink("/proc/self/ns/pid"))
    return " ".join(parts)


class Leases:
    """The leases of a store, as one process sees them."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "running"
        self.has_changed = False  # the file of the holder was seen to change: it is alive, or was a moment ago
        self._number = 0  # of the lease that was last looked at
        self._count = 0
        self._since = 0.0  # when it was first seen with this count

    def holder(self) -> Lease | None:
        """The run whose turn it may be; None if it is nobody's. Call it again and again: only time shows that a run of
        another machine died."""
        number = max(self._numbers(), default=0)
        lease = self._read(number) if number else Lease(ended=True)
        if (number, lease.count) != (self._number, self._count):
            self.has_changed = number == self._number
            self._number, self._count, self._since = number, lease.count, time.monotonic()
        return None if lease.is_over or time.monotonic() - self._since > SILENCE else lease

    def take(self, own: Lease) -> int | None:
        """The number of this run's lease, which follows the one that ``holder`` found to be over; None if another run
        was faster."""
        number = self._number + 1
        try:
            create(self._path(number), canonical(asdict(own)).encode())
        except FileExistsError:
            return None
        numbers = self._numbers()
        if max(numbers) != number:  # others have had this number, and it was removed after them
            self._path(number).unlink(missing_ok=True)
            return None
        for old in set(numbers) - {number}:
            self._path(old).unlink(missing_ok=True)
        return number

    def write(self, number: int, lease: Lease) -> None:
        """What a full disk or a removed folder prevents, the next time may do."""
        with suppress(OSError):
            write_atomically(self._path(number), canonical(asdict(lease)).encode(), sync=False)

    def _numbers(self) -> list[int]:
        try:
            names = os.listdir(self.folder)
        except OSError:
            return []
        stems = (name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX))
        return [int(stem) for stem in stems if stem.isascii() and stem.isdigit()]

    def _read(self, number: int) -> Lease:
        """A file that is no lease, or not yet, counts as one of an unknown run."""
        try:
            content = read_json(self._path(number))
        except (OSError, ValueError):
            content = None
        return _parsed(content if isinstance(content, dict) else {})

    def _path(self, number: int) -> Path:
        return self.folder / f"{number}{_SUFFIX}"


def _parsed(content: dict[str, object]) -> Lease:
    run, study, host, machine = (
        printable(str(content.get(name, "")), 200) for name in ("run", "study", "host", "machine")
    )
    pid, count = (value if type(value := content.get(name)) is int else 0 for name in ("pid", "count"))
    return Lease(run, study, host, machine, pid % 2**31, count, content.get("ended") is True)


@contextmanager
def turn(root: Path, own: Lease, say: Callable[[str], None]) -> Iterator[None]:
    """Wait until no other run writes into the store, and hold the turn inside the context."""
    leases = Leases(root)
    number = _wait(leases, own, say)
    ended, count = threading.Event(), 0

    def beat() -> None:
        nonlocal count
        while not ended.wait(BEAT):
            count += 1
            leases.write(number, replace(own, count=count))

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        leases.write(number, replace(own, count=count + 1, ended=True))


def _wait(leases: Leases, own: Lease, say: Callable[[str], None]) -> int:
    start, announced = time.monotonic(), False
    while True:
        holder = leases.holder()
        if holder is None:
            if (number := leases.take(own)) is not None:
                return number
        elif not announced and time.monotonic() - start >= _QUIET:
            say(f"waiting for another run ({holder.name}), which writes into this store.")
            announced = True
        if holder is not None:
            time.sleep(_POLL)


def running(root: Path, patience: float = SILENCE, step: Step = no_step) -> tuple[Lease, bool] | None:
    """The run that may be writing into a store, and whether it certainly is. Waits at most ``patience`` seconds for a
    sign of life."""
    leases, start = Leases(root), time.monotonic()
    while (holder := leases.holder()) is not None:
        waited = time.monotonic() - start
        if leases.has_changed or waited > patience:
            return holder, leases.has_changed
        step(int(waited), int(patience))
        time.sleep(_POLL)
    return None
