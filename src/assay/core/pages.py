"""How our own processes keep memory: model calls ask for the same large buffers again and again.

glibc hands large buffers back to the system at once and gets them back page by page: on colour count that took as long
as the arithmetic. Processes that belong to assay (workers, the command line) keep up to two gigabytes instead.

What is kept must be used again. torch asks for aligned buffers, and glibc cuts splinters of less than 100 bytes off
both ends of each. Small objects that settle in a splinter, and splinters in glibc's cache of small pieces, split the
memory of freed buffers for good: a call that holds 0.54 GB took 0.85 GB, or 1.24 GB when it was unlucky. So small
pieces are merged at once, small objects find a stock of free pieces elsewhere, and worker processes start without the
cache. Then a call takes 1.0 to 1.65 times what it holds (``GAPS`` in core/footprint.py). Calls of other sizes leave
other gaps: where these add up, what is free goes back to the system before the next series of calls.

Where the C library is another one, nothing happens.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

_M_MXFAST, _M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = 1, -1, -3  # of mallopt(3)
KEPT = 2**31 - 1
STOCK = ((range(24, 136, 16), 4096), (range(136, 1048, 16), 256), (range(2**16 - 16, 2**16), 16))  # bytes, and how many
LOADED = 2**29  # bytes for torch, the model and its data, roughly
TUNABLES, NO_CACHE = "GLIBC_TUNABLES", "glibc.malloc.tcache_count=0"

_libraries: list[ctypes.CDLL] = []  # the one that keeps pages, once it does


def keep_pages() -> bool:
    """True where the C library understood."""
    try:
        library = ctypes.CDLL(None)
        mallopt = library.mallopt
    except (OSError, AttributeError, TypeError):
        return False
    kept = bool(mallopt(_M_MMAP_THRESHOLD, 2**30)) and bool(mallopt(_M_TRIM_THRESHOLD, KEPT))
    if kept and not _libraries:
        mallopt(_M_MXFAST, 0)
        _lay_in(library)
        _libraries.append(library)
    return kept


def hand_back(beyond: int) -> None:
    """Free memory goes back to the system, where this process keeps it and has more than ``beyond`` bytes."""
    if _libraries and _resident() > beyond:
        _libraries[0].malloc_trim(0)


def start_without_cache() -> None:
    """Processes that are started from now on have no cache of small pieces; it can be set at a start only."""
    given = os.environ.get(TUNABLES, "")
    if "tcache_count" not in given:
        os.environ[TUNABLES] = f"{given}:{NO_CACHE}" if given else NO_CACHE


def _lay_in(library: ctypes.CDLL) -> None:
    """Free pieces of many small sizes, every second one kept in use so that they do not merge."""
    malloc, free = library.malloc, library.free
    malloc.restype, malloc.argtypes, free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
    for sizes, count in STOCK:
        for size in sizes:
            for piece in [malloc(size) for _ in range(count)][::2]:
                free(piece)


def _resident() -> int:
    """Bytes of this process in memory; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0
