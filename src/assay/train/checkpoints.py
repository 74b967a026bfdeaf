"""A training that is stopped goes on where it was, and ends with the bytes of one that was never stopped.

Whoever asks for a training opens ``kept_in(folder)`` around it; each training loop inside keeps one ``Checkpoints``.
A checkpoint is named after what its training began with (network, rows, optimiser, random numbers): several trainings
share a folder, and none picks up what belongs to another.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import torch
from safetensors import SafetensorError

from assay.train.trees import decode, digest, encode

FORMAT = 1  # of checkpoints
FORGOTTEN = 30 * 24 * 3600  # seconds after which nobody is expected to resume a training


class Resumable(Protocol):
    """A training loop's state: everything that its next epoch depends on."""

    def state(self) -> dict[str, Any]: ...

    def resume(self, state: dict[str, Any]) -> None: ...


@dataclass(frozen=True)
class Throttle:
    """When a checkpoint is worth its time."""

    seconds: float = 2.0  # at least, since the last one or the begin: a shorter training keeps none
    share: float = 0.02  # of the time, at most, that goes into checkpoints
    clock: Callable[[], float] = time.monotonic


@dataclass
class _Shelf:
    folder: Path
    throttle: Throttle
    cost: float = 0.0  # seconds that the last checkpoint took
    last: float = field(init=False)  # when it was done

    def __post_init__(self) -> None:
        self.last = self.throttle.clock()

    def keep(self, write: Callable[[], None]) -> None:
        """Write a checkpoint if it is time for one; where that is impossible, the training goes on without."""
        began = self.throttle.clock()
        if began - self.last < max(self.throttle.seconds, self.cost / self.throttle.share):
            return
        with suppress(OSError, SafetensorError, TypeError):
            write()
        self.last = self.throttle.clock()
        self.cost = self.last - began


_shelf: ContextVar[_Shelf | None] = ContextVar("checkpoints", default=None)


@contextmanager
def kept_in(folder: Path, throttle: Throttle = Throttle()) -> Iterator[None]:
    """Trainings inside keep their checkpoints in ``folder``, and go on from those that are there.

    It is removed when the work inside is done; an error or a kill leaves it. Folders beside it that nobody resumed for
    a month are removed, too.
    """
    _forget(folder.parent)
    token = _shelf.set(_Shelf(folder, throttle))
    try:
        yield
    finally:
        _shelf.reset(token)
    shutil.rmtree(folder, ignore_errors=True)


class Checkpoints:
    """Those of one training, after whole epochs; none outside of ``kept_in``.

    ``facts`` are what its result depends on and its state does not hold, such as rows and the number of epochs.
    """

    def __init__(self, training: Resumable, *facts: Any) -> None:
        self.training = training
        self.done = 0  # epochs, those included that a checkpoint spares
        self.shelf = _shelf.get()
        if self.shelf is not None:
            self._begin(self.shelf, facts)

    def keep(self, done: int) -> None:
        """To be called after every epoch, with the number of epochs done."""
        self.done = done
        if self.shelf is not None:
            self.shelf.keep(self._write)

    def _begin(self, shelf: _Shelf, facts: tuple[Any, ...]) -> None:
        try:
            self.start = digest([FORMAT, torch.__version__, facts, self.training.state()])[:32]
        except TypeError:
            self.shelf = None  # an optimiser with state that cannot be told: nothing is kept for it
            return
        self._resume(shelf.folder)

    def _resume(self, folder: Path) -> None:
        for path in sorted(folder.glob(f"{self.start}.*.safetensors"), reverse=True):
            found = _read(path)
            if found is not None:
                self.training.resume(found["state"])
                self.done = found["done"]
                return

    def _write(self) -> None:
        """The new file first, then without those before it: a kill in between leaves both."""
        assert self.shelf is not None
        raw = encode({"done": self.done, "state": self.training.state()})
        path = self.shelf.folder / f"{self.start}.{self.done:06d}.{_sum(raw)}.safetensors"
        _place(path, raw)
        for other in path.parent.glob(f"{self.start}.*.safetensors"):
            if other.name < path.name:
                other.unlink(missing_ok=True)


def _sum(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


def _read(path: Path) -> dict[str, Any] | None:
    """A checkpoint whose content is what its name says."""
    with suppress(OSError):
        raw = path.read_bytes()
        if path.name.endswith(f".{_sum(raw)}.safetensors"):
            found: dict[str, Any] = decode(raw)
            return found
    return None


def _place(path: Path, raw: bytes) -> None:
    """The whole file or none, also after a power cut."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _forget(folder: Path) -> None:
    oldest = time.time() - FORGOTTEN
    with suppress(OSError):
        for old in [path for path in folder.iterdir() if path.is_dir() and path.stat().st_mtime < oldest]:
            shutil.rmtree(old, ignore_errors=True)
