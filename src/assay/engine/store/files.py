"""Writing files atomically, renaming damaged ones, and reading those that a stranger may have made."""

from __future__ import annotations

import errno
import json
import os
import secrets
import stat
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from io import BufferedReader
from pathlib import Path
from typing import Any

from assay.engine.store.fault_points import fault_point

_PARTIAL = ".partial-"
_DAMAGED = ".damaged-"


Step = Callable[[int, int], None]  # called with how much of a long task is done, and how much there is


def no_step(done: int, total: int) -> None:
    """For callers that show no progress."""


def is_partial(path: Path) -> bool:
    """Whether this is the temporary file of a write, running or killed."""
    return _PARTIAL in path.name


def is_waste(path: Path) -> bool:
    """Whether this is a temporary or a damaged file."""
    return is_partial(path) or _DAMAGED in path.name


def write_atomically(path: Path, data: bytes, *, sync: bool = True, point: str = "") -> None:
    """Write a file so that readers see the whole new content or the old state. ``point`` names the fault point halfway.

    Without ``sync`` this holds if the process is killed; after a power cut the file may be truncated or empty.
    """
    partial = f"{path}{_PARTIAL}{secrets.token_hex(8)}"
    try:
        _write(partial, data, sync, point)
        os.replace(partial, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(partial)
        raise
    if sync:
        fault_point("file.renamed")
        sync_folder(path.parent)


def create(path: Path, data: bytes) -> None:
    """Write a new file; FileExistsError if there is one."""
    try:
        _write(str(path), data, sync=False, point="")
    except FileExistsError:
        raise
    except BaseException:
        with suppress(OSError):
            os.unlink(path)
        raise


def _write(path: str, data: bytes, sync: bool, point: str) -> None:
    handle = _create(path)
    try:
        fault_point(point, lambda: os.write(handle, data[: len(data) // 2]))
        rest = memoryview(data)
        while rest:  # one call may write only a part, at most 2 GiB on Linux
            rest = rest[os.write(handle, rest) :]
        if sync:
            os.fsync(handle)
    finally:
        os.close(handle)


def _create(path: str) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    try:
        return os.open(path, flags, 0o666)
    except FileNotFoundError:  # checking for the folder each time would cost as much as writing the file
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return os.open(path, flags, 0o666)


def open_file(path: Path) -> BufferedReader:
    """Open a file for reading. A pipe or device is an OSError: reading it might never end."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "Not a regular file", str(path))
    return path.open("rb")


def read_file(path: Path) -> bytes:
    """The content of a file; see ``open_file``."""
    with open_file(path) as file:
        return file.read()


def read_json(path: Path) -> Any:
    """The value in a JSON file; ValueError if there is none."""
    try:
        return json.loads(read_file(path))
    except RecursionError:
        raise ValueError(f"{path} is nested too deeply") from None


def set_aside(path: Path) -> None:
    """Rename a damaged file so that it is not read again; in a read-only folder it stays as it is."""
    with suppress(OSError):
        path.rename(f"{path}{_DAMAGED}{secrets.token_hex(8)}")


def sync_folder(folder: Path) -> None:
    """Force a folder's file names to disk, so that they survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove_waste(paths: Iterable[Path], older: float) -> int:
    """Remove temporary and damaged files that are older than ``older`` seconds; returns their number."""
    stale = [path for path in paths if is_waste(path) and _age(path) >= older]
    for path in stale:
        path.unlink(missing_ok=True)
    return len(stale)


def _age(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:  # the writer has finished and renamed it
        return -1.0
