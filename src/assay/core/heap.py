"""Memory of our own processes: they keep freed buffers, because model calls ask for the same large ones repeatedly.

glibc returns large buffers to the system at once and gets them back page by page. On colour count that took as long as
the arithmetic. Processes that belong to assay (workers, the command line) keep up to two gigabytes instead.

Kept memory must be reusable. torch asks for aligned buffers, and glibc cuts splinters of less than 100 bytes off both
ends of each. Small objects in a splinter, and splinters in glibc's cache of small pieces, split the memory of freed
buffers permanently: a call that holds 0.54 GB took 0.85 GB, in bad cases 1.24 GB. So small pieces are merged at once,
small objects get a stock of free pieces elsewhere, and worker processes start without the cache. Then a call takes 1.0
to 1.5 times the bytes that it holds, the same in every run. Calls of different sizes leave different gaps. When these
add up to a whole budget, free memory is returned to the system before the next model calls.

With another C library than glibc, nothing here has an effect.
"""

from __future__ import annotations

import ctypes
import os
from itertools import repeat
from pathlib import Path

_M_MXFAST, _M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = 1, -1, -3  # of mallopt(3)
KEPT = 2**31 - 1  # bytes of free memory that a process keeps
STOCK = (  # sizes of pieces in bytes, and counts: most small objects that outlive a call are keys of oneDNN's cache
    (range(24, 72, 16), 2**15),
    (range(72, 136, 16), 2**12),
    (range(136, 1048, 16), 256),
    (range(2**16, 2**16 + 1), 256),
)
LOADED = 2**29  # bytes for torch, the model and its data, roughly
TUNABLES, NO_CACHE = "GLIBC_TUNABLES", "glibc.malloc.tcache_count=0"

_libraries: list[ctypes.CDLL] = []  # the C library, once it keeps pages
_stocked: list[bool] = []  # True, once the stock is allocated
_in_use = [LOADED]  # bytes of this process that were left when free memory was returned last


def keep_pages() -> bool:
    """Make the C library keep the pages of freed buffers; True where it can."""
    try:
        library = ctypes.CDLL(None)
        mallopt = library.mallopt
    except (OSError, AttributeError, TypeError):
        return False
    accepted = bool(mallopt(_M_MMAP_THRESHOLD, 2**30)) and bool(mallopt(_M_TRIM_THRESHOLD, KEPT))
    if accepted:
        mallopt(_M_MXFAST, 0)
        _libraries.append(library)
    return accepted


def make_room(budget: int) -> None:
    """Prepare large calls, if this process keeps pages: allocate the stock, once, and return free memory to the system
    if the process has more than ``budget`` bytes beyond those that it had after it did so last. (A fixed limit would
    return the pages of every call in a process that holds much itself, and get them back one by one.)"""
    if not _libraries:
        return
    if not _stocked:
        _allocate_stock(_libraries[0])
        _stocked.append(True)
    if resident() > _in_use[0] + budget:
        return_free_memory()


def return_free_memory() -> None:
    """Return free memory to the system, if this process keeps pages."""
    if _libraries:
        _libraries[0].malloc_trim(0)
        _in_use[0] = max(LOADED, resident())


def start_without_cache() -> None:
    """Processes started from now on have no cache of small pieces; this can be set only at the start of a process."""
    tunables = os.environ.get(TUNABLES, "")
    if "tcache_count" not in tunables:
        os.environ[TUNABLES] = f"{tunables}:{NO_CACHE}" if tunables else NO_CACHE


def _allocate_stock(library: ctypes.CDLL) -> None:
    """Allocate pieces of many small sizes and free every second one; the others stay in use, so that none merge."""
    malloc, free = library.malloc, library.free
    malloc.restype, malloc.argtypes, free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
    for sizes, count in STOCK:
        for size in sizes:
            for piece in list(map(malloc, repeat(size, count)))[::2]:
                free(piece)


def resident() -> int:
    """Bytes of this process in memory; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0
