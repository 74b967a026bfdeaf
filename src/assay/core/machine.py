"""What a computation may use, and how many rows go into one model call.

Rows per call are arithmetic from shapes and the memory budget, never from the machine's free memory: the same study
makes the same calls, and so the same bytes, everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from assay.core.errors import AssayError

MEMORY = 2**30
FAST = 16  # rows: from here on, on one thread, torch's convolutions of single pixels take half the time a row
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
        """Rows that fit one call: at least 1."""
        return max(1, self.memory // max(1, bytes_per_row))


def cut(count: int, most: int, rows: int = 1) -> Iterator[slice]:
    """``count`` things of so many ``rows`` each in parts of at most ``most``, for calls that are fast.

    Equal parts, unless that makes all of them slow: then full ones, and a rest.
    """
    parts = -(-count // most)
    equal = parts > 0 and count // parts * rows >= FAST
    for part in range(parts):
        if equal:
            yield slice(part * count // parts, (part + 1) * count // parts)
        else:
            yield slice(part * most, min((part + 1) * most, count))


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
