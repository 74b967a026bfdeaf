"""The queue of a run whose store other runs may write into at the same time."""

from __future__ import annotations

import time
from collections.abc import Iterable
from itertools import chain

from assay.artifacts.artifact import Artifact
from assay.core.records import Record
from assay.execute.other_runs import OtherRuns, say
from assay.execute.queue import Queue
from assay.store.protocol import Records

_POLL = 0.2  # seconds between two looks while other runs compute all that this one could
_QUIET = 2.0  # seconds after which a wait is announced

Task = tuple[Artifact, dict[str, Record]]


class SharedQueue(Queue):
    """Gives out an artifact only if no other run has done it or is computing it.

    What another run computes is put off, and computed here after all if that run dies or fails.
    """

    def __init__(self, artifacts: Iterable[Artifact], store: Records, others: OtherRuns) -> None:
        super().__init__(artifacts, store)
        self._others = others
        self._claimed: Task | None = None  # by ``wait``
        self._put_off: list[Task] = []
        self._taken_over: list[Record] = []
        others.follow(artifact.key for artifact in self.artifacts)

    def next(self) -> Task | None:
        """As ``Queue.next``. None at the end of an executor's work may mean that others still compute: see ``wait``."""
        task, self._claimed = self._claimed, None
        return task or self._claim()

    def wait(self) -> bool:
        """Wait until there is something to compute here; False when everything is done, by this run or others."""
        start, announced = time.monotonic(), False
        while (task := self.next()) is None and self._put_off:
            if not announced and time.monotonic() - start >= _QUIET:
                announced = self._announce_wait()
            time.sleep(_POLL)
            self._others.look()
        self._claimed = task
        return task is not None

    def taken_over(self) -> list[Record]:
        """Records of other runs that this run would have computed otherwise, since the last call."""
        records, self._taken_over = self._taken_over, []
        return records

    def _claim(self) -> Task | None:
        """The next task that no other run computes; None if there is none now.

        Those that were put off come last: the runs that compute them are about to finish.
        """
        while True:
            put_off, self._put_off = iter(self._put_off), []
            taken_over_before = len(self._taken_over)
            for task in chain(iter(super().next, None), put_off):
                if self._claim_or_put_off(task):
                    self._put_off += put_off  # those that were not reached
                    return task
            if len(self._taken_over) == taken_over_before:  # else tasks that needed these may be ready now
                return None

    def _claim_or_put_off(self, task: Task) -> bool:
        """True if this run is to compute the task; else its record is taken over, or the task is put off."""
        if self._others.claim(task[0].key):
            return True
        if not self._take_over(task):
            self._put_off.append(task)
        return False

    def _take_over(self, task: Task) -> bool:
        record = self._others.answer(task[0].key)
        if record is None:
            return False
        self.add_record(record)
        self._taken_over.append(record)
        return True

    def _announce_wait(self) -> bool:
        """Print for which runs this one waits; False if none of them computes what was put off any more."""
        keys = [artifact.key for artifact, _ in self._put_off]
        runs = "; ".join(run.name for run in self._others.computing(keys))
        if runs:
            say(f"waiting for another run ({runs}), which computes what this one needs.")
        return bool(runs)
