"""Device, number format and memory budget of a run, and how many rows go into one model call.

Rows per call follow from shapes and the memory budget, never from the machine's free memory. So the same study makes
the same calls, and stores the same bytes, everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from assay.core.errors import AssayError

MEMORY = 2**30
FAST = 16  # rows per call from which, on one thread, torch's 1 x 1 convolutions take half the time per row
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kKmMgG]?)i?[bB]?\s*")
_FACTOR = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}


@dataclass(frozen=True)
class Machine:
    """One memory budget, one device, one number format for a whole run."""

    device: str = "cpu"
    dtype: str = "float32"
    memory: int = MEMORY  # bytes for one model call and its points, beyond the loaded model; give a GPU gigabytes
    threads: int = 1

    def rows(self, bytes_per_row: int) -> int:
        """Rows that fit into one call, at least 1."""
        return max(1, self.memory // max(1, bytes_per_row))


@dataclass(frozen=True)
class Resources:
    """What a run computes with."""

    workers: int = 0  # processes; 0 computes in this one
    machine: Machine = Machine()  # of each process
    timeout: float | None = None  # seconds for one artifact
    cluster: str | None = None  # address of a Dask scheduler; empty: a cluster is started here; None: no Dask


def call_slices(count: int, most: int, rows: int = 1) -> Iterator[slice]:
    """Divide ``count`` items of ``rows`` rows each into calls of at most ``most`` items.

    Calls are equal, unless one would then have fewer than ``FAST`` rows: then they are full, and the last one has the
    rest.
    """
    calls = -(-count // most)
    equal = calls > 0 and count // calls * rows >= FAST
    for call in range(calls):
        if equal:
            yield slice(call * count // calls, (call + 1) * count // calls)
        else:
            yield slice(call * most, min((call + 1) * most, count))


def parse_memory(text: str) -> int:
    """Bytes in ``"1GB"``, ``"512 MB"``, ``"2g"``."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise AssayError(f"cannot read '{text}' as a memory size. Write for example 512MB or 2GB.")
    exact = float(match.group(1)) * _FACTOR[match.group(2).lower()]
    if exact > 2**62:
        raise AssayError(f"a memory budget of '{text[:40]}' is more than any machine has.")
    size = int(exact)
    if size < 2**20:
        raise AssayError(f"a memory budget of '{text}' is too small: give at least 1MB.")
    return size
