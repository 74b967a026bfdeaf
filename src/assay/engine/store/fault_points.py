"""Named points at which a test may kill the process. For tests of reliability only.

With ``ASSAY_FAULT=name:k`` in the environment, the k-th time (from 1) this process reaches the point ``name``, the
whole process group dies by SIGKILL: no handler runs, no buffer is flushed, no worker survives. Start the victim in
its own session, or the test dies with it. The points:

``array.partial``   half of an array file is written
``array.written``   the array is in place, its record is not
``record.partial``  half of a log line is written
``record.written``  the line is in the log, and nobody was told
``file.renamed``    a file that is forced to disk has its name, its folder is not on disk yet
``cache.partial``   a model is in the cache of models, its checksum is not
``run.unrecorded``  all artifacts of a run are stored, the run itself is not
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable

_times_reached: Counter[str] = Counter()


def fault_point(name: str, first: Callable[[], object] = lambda: None) -> None:
    """Kill the process group here if ``ASSAY_FAULT`` says so, after calling ``first`` (which does half of the work)."""
    if "ASSAY_FAULT" in os.environ and _is_due(name):
        first()
        os.killpg(os.getpgid(0), signal.SIGKILL)


def _is_due(name: str) -> bool:
    point, _, count = os.environ["ASSAY_FAULT"].rpartition(":")
    if name != point:
        return False
    _times_reached[name] += 1
    return _times_reached[name] == int(count)
