"""Keep memory that was freed: model calls ask for the same large buffers again and again.

glibc hands large buffers back to the system at once and gets them back page by page: on colour count that took as long
as the arithmetic. Processes that belong to assay (workers, the command line) keep up to two gigabytes instead. Where
the C library is another one, nothing happens.
"""

from __future__ import annotations

import ctypes

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of mallopt(3)
KEPT = 2**31 - 1


def keep_pages() -> bool:
    """True where the C library understood."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):
        return False
    return bool(mallopt(_M_MMAP_THRESHOLD, 2**30)) and bool(mallopt(_M_TRIM_THRESHOLD, KEPT))
