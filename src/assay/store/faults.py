"""Named points at which a test may kill the process. For the torture test only.

With ``ASSAY_FAULT=name:k`` in the environment, the k-th time (from 1) this process reaches the point ``name``, the
whole process group dies by SIGKILL: no handler runs, no buffer is flushed, no worker survives. Start the victim in
its own session, or the test dies with it. The points:

``array.partial``   half of an array file is written
``array.written``   the array is in place, its record is not
``record.partial``  half of a log line is written
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable

_reached: Counter[str] = Counter()


def fault(name: str, first: Callable[[], object] = lambda: None) -> None:
    """Die here if the environment says so, after doing ``first`` (the half of the work that is to be found later)."""
    if "ASSAY_FAULT" in os.environ and _is_due(name):
        first()
        os.killpg(os.getpgid(0), signal.SIGKILL)


def _is_due(name: str) -> bool:
    wanted, _, count = os.environ["ASSAY_FAULT"].rpartition(":")
    if name != wanted:
        return False
    _reached[name] += 1
    return _reached[name] == int(count)
