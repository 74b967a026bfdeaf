"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterable
from pathlib import Path

from assay.store.faults import fault

_MARK = ".partial-"


def is_partial(path: Path) -> bool:
    """Is this the temporary file of a write, either under way or killed?"""
    return _MARK in path.name


def place(path: Path, data: bytes, *, sync: bool = True, point: str = "") -> None:
    """Write a file so that a reader sees all of it or what was there before; ``point`` names the fault halfway."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}{_MARK}{secrets.token_hex(8)}")
    try:
        _write(partial, data, sync, point)
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    if sync:
        sync_folder(path.parent)


def _write(path: Path, data: bytes, sync: bool, point: str) -> None:
    with path.open("xb", buffering=0) as file:
        fault(point, lambda: file.write(data[: len(data) // 2]))
        rest = memoryview(data)
        while rest:  # an unbuffered write may take only a part, at most 2 GiB on Linux
            rest = rest[file.write(rest) :]
        if sync:
            os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sweep(paths: Iterable[Path], older: float) -> int:
    """Remove temporary files not touched for ``older`` seconds; how many were removed."""
    stale = [path for path in paths if is_partial(path) and _age(path) >= older]
    for path in stale:
        path.unlink(missing_ok=True)
    return len(stale)


def _age(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:  # its writer finished in the meantime
        return -1.0
