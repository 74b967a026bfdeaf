"""Device, number format and memory budget of a run, and how many rows go into one model call.

On a CPU a call is as large as a cache: its tensors are then read where they were just written, also while other
processes use the machine. The memory budget is a ceiling that only large rows reach. On other devices calls fill it.
Rows per call follow from shapes and the budget, never from the clock, the machine's caches or its free memory. So the
same study makes the same calls, and stores the same bytes, everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from assay.core.errors import AssayError

MEMORY = 2**30
CACHE = 2**25  # bytes of a call (by footprint) that stay in a cache; about what processors of today have per core group
FAST = 16  # rows per call from which, on one thread, torch's 1 x 1 convolutions take half the time per row
STEP = 8  # rows per call are a multiple of this, for kernels that take several rows at a time
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kKmMgG]?)i?[bB]?\s*")
_FACTOR = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}


@dataclass(frozen=True)
class Machine:
    """One memory budget, one device, one number format for a whole run."""

    device: str = "cpu"
    dtype: str = "float32"
    memory: int = MEMORY  # bytes for one model call and its points, beyond the loaded model; give a GPU gigabytes
    threads: int = 1

    def rows(self, bytes_per_row: int, least: int = FAST) -> int:
        """Rows of one call: what a cache holds, or ``least`` where it holds fewer; never more than the budget holds,
        except for a single row."""
        most = self._most_rows(bytes_per_row)
        if self.device != "cpu":
            return most
        cached = CACHE // max(1, bytes_per_row) // STEP * STEP
        return min(most, self.threads * max(least, cached))

    def calls(self, count: int, bytes_per_row: int, rows: int = 1) -> Iterator[slice]:
        """Divide ``count`` items of ``rows`` rows each into equal calls of at least ``self.rows(...)`` rows, and less
        than twice as many; of fewer rows where the budget requires it.

        If equal calls would then have fewer than ``FAST`` rows, calls are full, and the last one has the rest.
        """
        most = max(1, self._most_rows(bytes_per_row) // rows)  # items
        wanted = min(most, -(-self.rows(bytes_per_row) // rows))
        calls = max(-(-count // most), count // wanted)
        equal = calls > 0 and count // calls * rows >= FAST
        for call in range(calls):
            if equal:
                yield slice(call * count // calls, (call + 1) * count // calls)
            else:
                yield slice(call * most, min((call + 1) * most, count))

    def _most_rows(self, bytes_per_row: int) -> int:
        """Rows that the budget holds, at least 1."""
        return max(1, self.memory // max(1, bytes_per_row))


@dataclass(frozen=True)
class Resources:
    """What a run computes with."""

    workers: int = 0  # processes; 0 computes in this one
    machine: Machine = Machine()  # of each process
    timeout: float | None = None  # seconds for one artifact
    cluster: str | None = None  # address of a Dask scheduler; empty: a cluster is started here; None: no Dask


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
