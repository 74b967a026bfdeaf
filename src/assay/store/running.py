"""The runs that are writing into a store now: each one has a small file of its own, ``running/<run id>.json``.

A run writes its file anew about every second, with a count of the times it did so. Another process takes the run to be
alive as long as the count changes, by its own clock: clocks of different machines are never compared. On the machine
of the run, a process that has ended is known at once. A file of a dead run is removed by whoever finds it; a run that
was only stopped for a while writes its file again.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import psutil

from assay.core.records import canonical, printable
from assay.store.files import Step, no_step, read_json, write_atomically

BEAT = 1.0  # seconds between two writes of a run's file
SILENCE = 60.0  # seconds without a change after which a run is dead; network file systems show changes late

_SUFFIX = ".json"


@dataclass(frozen=True)
class RunningRun:
    """What a run's file says."""

    run: str
    study: str = ""
    host: str = ""
    machine: str = ""  # where process ids mean the same
    pid: int = 0
    count: int = 0  # of the times the file was written
    computing: tuple[str, ...] = ()  # keys that no other run should compute
    sees: tuple[str, ...] = ()  # other runs that it knows of

    @property
    def name(self) -> str:
        return f"{self.run}, {self.host}, process {self.pid}"

    @property
    def has_ended(self) -> bool:
        """True if its process was on this machine and is gone. False says nothing."""
        if self.machine != this_machine():
            return False
        try:
            return bool(psutil.Process(self.pid).status() == psutil.STATUS_ZOMBIE)
        except psutil.Error as error:
            return isinstance(error, psutil.NoSuchProcess)


def this_run(run: str, study: str) -> RunningRun:
    return RunningRun(run, study, platform.node(), this_machine(), os.getpid())


@cache
def this_machine() -> str:
    """Equal for two processes only if they see the same processes. Host names repeat, so the boot's id is added, and
    containers of one host have process ids of their own."""
    parts = [platform.node()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
        parts.append(os.readlink("/proc/self/ns/pid"))
    return " ".join(parts)


class RunningRuns:
    """The files of running runs, as one process sees them."""

    def __init__(self, root: Path, own: str = "") -> None:
        self.folder = root / "running"
        self.own = own  # id of the run that looks, if it is one
        self._changes: dict[str, tuple[int, float, bool]] = {}  # count, when it was first seen, whether it ever changed

    def write(self, run: RunningRun) -> None:
        """Write a run's own file; what a full disk or a removed folder prevents, the next time may do."""
        with suppress(OSError):
            write_atomically(self._path(run.run), canonical(asdict(run)).encode(), sync=False)

    def remove(self, run_id: str) -> None:
        with suppress(OSError):
            self._path(run_id).unlink()

    def alive(self) -> list[RunningRun]:
        """Other runs that may be alive. Call it again and again: only time shows that a run of another machine died."""
        runs = []
        for run in self._read():
            if run.has_ended or self.silent_for(run) > SILENCE:
                self.remove(run.run)
            else:
                runs.append(run)
        return runs

    def silent_for(self, run: RunningRun) -> float:
        """Seconds since its file was seen to change, or was first seen."""
        now = time.monotonic()
        count, since, _ = self._changes.get(run.run, (None, now, False))
        if count != run.count:
            self._changes[run.run] = (run.count, now, count is not None)
            return 0.0
        return now - since

    def has_changed(self, run: RunningRun) -> bool:
        """Whether its file was ever seen to change: the run is alive, or was a moment ago."""
        return self._changes.get(run.run, (0, 0.0, False))[2]

    def _read(self) -> Iterator[RunningRun]:
        try:
            names = sorted(os.listdir(self.folder))
        except OSError:
            return
        for name in names:
            if name.endswith(_SUFFIX) and name != self.own + _SUFFIX:
                with suppress(OSError, ValueError, TypeError):  # removed meanwhile, or no such file
                    yield _parsed(name.removesuffix(_SUFFIX), read_json(self.folder / name))

    def _path(self, run_id: str) -> Path:
        return self.folder / f"{run_id}{_SUFFIX}"


def _parsed(run_id: str, content: object) -> RunningRun:
    if not isinstance(content, dict):
        raise ValueError("not a run's file")
    study, host, machine = (printable(str(content.get(name, "")), 200) for name in ("study", "host", "machine"))
    pid, count = (value if type(value := content.get(name)) is int else 0 for name in ("pid", "count"))
    computing, sees = (tuple(map(str, content.get(name) or ())) for name in ("computing", "sees"))
    return RunningRun(run_id, study, host, machine, pid % 2**31, count, computing, sees)


def running_runs(root: Path, patience: float = SILENCE, step: Step = no_step) -> dict[RunningRun, bool]:
    """Runs that may be alive, and whether they certainly are. Waits at most ``patience`` seconds for a sign of life."""
    runs, start = RunningRuns(root), time.monotonic()
    while True:
        alive = {run: runs.has_changed(run) for run in runs.alive()}
        waited = time.monotonic() - start
        if all(alive.values()) or waited > patience:
            return alive
        step(int(waited), int(patience))
        time.sleep(BEAT / 5)
