"""Running jobs in this process: for notebooks, tests and debuggers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from assay.core.machine import Machine
from assay.core.records import Record
from assay.execute.desk import Desk
from assay.execute.jobs import Job
from assay.execute.queue import Queue
from assay.execute.work import perform
from assay.store.store import Store


@dataclass(frozen=True)
class Inline:
    """One job after the other, here."""

    machine: Machine = Machine()

    def run(self, jobs: Iterable[Job], store: Store) -> Iterator[Record]:
        queue = Queue(jobs, store)
        desk = Desk(Path(store.root), self.machine)
        threads = torch.get_num_threads()
        torch.set_num_threads(self.machine.threads)
        try:
            while (found := queue.next()) is not None:
                for record in perform(*found, desk):
                    queue.learn(record)
                    yield record
        finally:
            torch.set_num_threads(threads)
