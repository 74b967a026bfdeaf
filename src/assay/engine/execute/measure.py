"""Times of artifacts that were never computed: one of each group, and a second one of quick groups without its warm-up.

They are computed in a worker process and a store that is deleted afterwards, within a limited time. Trained models are
kept in the cache (``engine/artifacts/cache.py``), also where a training is stopped: it goes on from its checkpoint.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from assay.core.machine import Machine
from assay.core.records import Record
from assay.engine.artifacts.artifact import Artifact
from assay.engine.execute.local import Local
from assay.engine.execute.plan import missing
from assay.engine.execute.queue import Queue
from assay.engine.store.protocol import Records
from assay.engine.store.store import Store

LONGEST = 10.0  # seconds for one artifact
TOTAL = 30.0  # seconds after which no other one is begun
QUICK = 1.0  # seconds: a group that takes longer needs no second one

_ONCE = ("model", "samples", "fit", "prepared")  # kinds of which a second one would need another model
_NEVER = "score"  # needs all blocks of a study, and takes milliseconds


def measure(artifacts: Iterable[Artifact], store: Records, machine: Machine) -> Iterator[Record]:
    """Records of artifacts that stand for the groups of these ones, and of what they need."""
    to_compute = missing(_representatives(artifacts), store)
    computed_keys = {artifact.key for artifact in to_compute}
    needed_keys = {need.key for artifact in to_compute for need in artifact.needs} - computed_keys
    with TemporaryDirectory(prefix="assay-") as folder:
        scratch = Store.open(folder, sync=False)
        for record in store.answers(needed_keys).values():
            scratch.put(replace(record, arrays=scratch.save(store.load(record)) if record.arrays else ""))
        yield from Local(Path(folder), 1, machine, LONGEST).run(_BriefQueue(to_compute, scratch))
        scratch.close()


def _representatives(artifacts: Iterable[Artifact]) -> Iterator[Artifact]:
    counts: dict[str, int] = {}
    for artifact in artifacts:
        key = artifact.group.key
        counts[key] = counts.get(key, 0) + 1
        if artifact.kind != _NEVER and counts[key] <= (1 if artifact.kind in _ONCE else 2):
            yield artifact


class _BriefQueue(Queue):
    """Leaves out further artifacts of slow groups, and everything after the time is over."""

    def __init__(self, artifacts: Iterable[Artifact], store: Records) -> None:
        super().__init__(artifacts, store)
        self._end = time.monotonic() + TOTAL

    def next(self) -> tuple[Artifact, dict[str, Record]] | None:
        if time.monotonic() > self._end:
            return None
        while (task := super().next()) is not None:
            cost = self.costs.of_group(task[0].group)
            if cost is None or cost.wall < QUICK:
                return task
        return None
