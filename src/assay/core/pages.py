"""How our own processes keep memory: model calls ask for the same large buffers again and again.

glibc hands large buffers back to the system at once and gets them back page by page: on colour count that took as long
as the arithmetic. Processes that belong to assay (workers, the command line) keep up to two gigabytes instead.

What is kept must be used again. torch asks for aligned buffers, and glibc cuts splinters of less than 100 bytes off
both ends of each. Small objects that settle in a splinter, and splinters in glibc's cache of small pieces, split the
memory of freed buffers for good: a call that holds 0.54 GB took 0.85 GB, or 1.24 GB when it was unlucky. So small
pieces are merged at once, small objects find a stock of free pieces elsewhere, and worker processes start without the
cache. Then a call takes 1.1 to 1.4 times what it holds, the same in every run. Calls of other sizes leave other gaps:
where these add up, what is free goes back to the system before the next series of calls.

Where the C library is another one, nothing happens.
"""

from __future__ import annotations

import ctypes
import os
from itertools import repeat
from pathlib import Path

_M_MXFAST, _M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = 1, -1, -3  # of mallopt(3)
KEPT = 2**31 - 1
STOCK = (  # bytes of a piece, and how many: most small objects that outlive a call are keys of oneDNN's cache
    (range(24, 72, 16), 2**15),
    (range(72, 136, 16), 2**12),
    (range(136, 1048, 16), 256),
    (range(2**16, 2**16 + 1), 256),
)
LOADED = 2**29  # bytes for torch, the model and its data, roughly
TUNABLES, NO_CACHE = "GLIBC_TUNABLES", "glibc.malloc.tcache_count=0"

_keeping: list[ctypes.CDLL] = []  # the library, once it keeps pages
_stocked: list[bool] = []  # True, once the stock is there


def keep_pages() -> bool:
    """True where the C library understood."""
    try:
        library = ctypes.CDLL(None)
        mallopt = library.mallopt
    except (OSError, AttributeError, TypeError):
        return False
    kept = bool(mallopt(_M_MMAP_THRESHOLD, 2**30)) and bool(mallopt(_M_TRIM_THRESHOLD, KEPT))
    if kept:
        mallopt(_M_MXFAST, 0)
        _keeping.append(library)
    return kept


def make_room(beyond: int) -> None:
    """Before large calls, where this process keeps pages: the stock is laid in, once, and free memory goes back to the
    system if the process has more than ``beyond`` bytes."""
    if not _keeping:
        return
    if not _stocked:
        _lay_in(_keeping[0])
        _stocked.append(True)
    if _resident() > beyond:
        _keeping[0].malloc_trim(0)


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
            for piece in list(map(malloc, repeat(size, count)))[::2]:
                free(piece)


def _resident() -> int:
    """Bytes of this process in memory; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0
