"""Files that are there whole, or not at all, or damaged and set aside."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from assay.store.faults import fault

_PARTIAL = ".partial-"
_DAMAGED = ".damaged-"


def is_partial(path: Path) -> bool:
    """Is this the temporary file of a write, either under way or killed?"""
    return _PARTIAL in path.name


def place(path: Path, data: bytes, *, sync: bool = True, point: str = "") -> None:
    """Write a file so that a reader sees all of it or what was there before; ``point`` names the fault halfway.

    Without ``sync`` that holds for a killed process; after a power cut the file may be there cut short or empty.
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
        sync_folder(path.parent)


def _write(path: str, data: bytes, sync: bool, point: str) -> None:
    handle = _new(path)
    try:
        fault(point, lambda: os.write(handle, data[: len(data) // 2]))
        rest = memoryview(data)
        while rest:  # one write may take only a part, at most 2 GiB on Linux
            rest = rest[os.write(handle, rest) :]
        if sync:
            os.fsync(handle)
    finally:
        os.close(handle)


def _new(path: str) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    try:
        return os.open(path, flags, 0o666)
    except FileNotFoundError:  # asking for the folder each time would cost as much as the file
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return os.open(path, flags, 0o666)


def set_aside(path: Path) -> None:
    """Give a damaged file a name that nobody reads; where the folder cannot be written, it stays as it is."""
    with suppress(OSError):
        path.rename(f"{path}{_DAMAGED}{secrets.token_hex(8)}")


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sweep(paths: Iterable[Path], older: float) -> int:
    """Remove temporary files and damaged ones, not touched for ``older`` seconds; how many were removed."""
    stale = [path for path in paths if (is_partial(path) or _DAMAGED in path.name) and _age(path) >= older]
    for path in stale:
        path.unlink(missing_ok=True)
    return len(stale)


def _age(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:  # its writer finished in the meantime
        return -1.0
