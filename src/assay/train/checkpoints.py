"""Checkpoints: a training that was stopped resumes, and ends with the same bytes as one that was never stopped.

A caller opens ``checkpoints_in(folder)`` around a training; each training loop inside has one ``Checkpoints``. A
checkpoint is named by a digest of what its training began with (network, rows, optimiser, random numbers), so several
trainings can share a folder, and none resumes from another's checkpoint.
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

from assay.train.serialise import decode, digest, encode

FORMAT = 1  # of checkpoints
EXPIRY = 30 * 24 * 3600  # seconds after which a training is not expected to be resumed


class Resumable(Protocol):
    """A training loop's state: everything that its next epoch depends on."""

    def state(self) -> dict[str, Any]: ...

    def resume(self, state: dict[str, Any]) -> None: ...


@dataclass(frozen=True)
class Throttle:
    """How often checkpoints are written."""

    seconds: float = 2.0  # at least, since the last one or the start: a shorter training writes none
    share: float = 0.02  # of the time, at most, spent on checkpoints
    clock: Callable[[], float] = time.monotonic


@dataclass
class _CheckpointFolder:
    path: Path
    throttle: Throttle
    cost: float = 0.0  # seconds that the last checkpoint took
    last: float = field(init=False)  # when it was finished

    def __post_init__(self) -> None:
        self.last = self.throttle.clock()

    def keep(self, write: Callable[[], None]) -> None:
        """Write a checkpoint if it is time for one; if that fails, the training goes on without."""
        began = self.throttle.clock()
        if began - self.last < max(self.throttle.seconds, self.cost / self.throttle.share):
            return
        with suppress(OSError, SafetensorError, TypeError):
            write()
        self.last = self.throttle.clock()
        self.cost = self.last - began


_current_folder: ContextVar[_CheckpointFolder | None] = ContextVar("checkpoints", default=None)


@contextmanager
def checkpoints_in(folder: Path, throttle: Throttle = Throttle()) -> Iterator[None]:
    """Trainings inside write their checkpoints to ``folder``, and resume from those in it.

    The folder is removed when the work inside is done; an error or a kill leaves it. Folders beside it that were not
    resumed for a month are removed, too.
    """
    _remove_expired(folder.parent)
    token = _current_folder.set(_CheckpointFolder(folder, throttle))
    try:
        yield
    finally:
        _current_folder.reset(token)
    shutil.rmtree(folder, ignore_errors=True)


class Checkpoints:
    """The checkpoints of one training, after whole epochs; none outside of ``checkpoints_in``.

    ``facts`` are what the result depends on besides the training's state, such as rows and the number of epochs.
    """

    def __init__(self, training: Resumable, *facts: Any) -> None:
        self.training = training
        self.done = 0  # epochs, including those restored from a checkpoint
        self.folder = _current_folder.get()
        if self.folder is not None:
            self._begin(self.folder, facts)

    def keep(self, done: int) -> None:
        """Call after every epoch, with the number of epochs done."""
        self.done = done
        if self.folder is not None:
            self.folder.keep(self._write)

    def _begin(self, folder: _CheckpointFolder, facts: tuple[Any, ...]) -> None:
        try:
            self.start = digest([FORMAT, torch.__version__, facts, self.training.state()])[:32]
        except TypeError:
            self.folder = None  # an optimiser whose state cannot be encoded has no checkpoints
            return
        self._resume(folder.path)

    def _resume(self, folder: Path) -> None:
        for path in sorted(folder.glob(f"{self.start}.*.safetensors"), reverse=True):
            checkpoint = _read(path)
            if checkpoint is not None:
                self.training.resume(checkpoint["state"])
                self.done = checkpoint["done"]
                return

    def _write(self) -> None:
        """Write the new file, then remove older ones: a kill in between leaves both."""
        assert self.folder is not None
        raw = encode({"done": self.done, "state": self.training.state()})
        path = self.folder.path / f"{self.start}.{self.done:06d}.{_sha256(raw)}.safetensors"
        _write_whole(path, raw)
        for other in path.parent.glob(f"{self.start}.*.safetensors"):
            if other.name < path.name:
                other.unlink(missing_ok=True)


def _sha256(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


def _read(path: Path) -> dict[str, Any] | None:
    """A checkpoint; None if it cannot be read or its content does not match the digest in its name."""
    with suppress(OSError):
        raw = path.read_bytes()
        if path.name.endswith(f".{_sha256(raw)}.safetensors"):
            checkpoint: dict[str, Any] = decode(raw)
            return checkpoint
    return None


def _write_whole(path: Path, raw: bytes) -> None:
    """Write the whole file or none, also in a power cut."""
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


def _remove_expired(folder: Path) -> None:
    oldest = time.time() - EXPIRY
    with suppress(OSError):
        for old in [path for path in folder.iterdir() if path.is_dir() and path.stat().st_mtime < oldest]:
            shutil.rmtree(old, ignore_errors=True)
