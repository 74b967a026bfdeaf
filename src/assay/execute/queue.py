"""Which job may start next: the part of scheduling that does not care how jobs are run."""

from __future__ import annotations

from collections.abc import Iterable

from assay.core.records import Record
from assay.execute.jobs import Job
from assay.store.store import Store


class Queue:
    """Jobs that wait, and the records that jobs need."""

    def __init__(self, jobs: Iterable[Job], store: Store) -> None:
        self.waiting: list[Job] = list(jobs)
        self.records: dict[str, Record] = {}
        coming = {key for job in self.waiting for _, key in job.makes}
        needed = {key for job in self.waiting for key in job.needs}
        for key in needed - coming:
            record = store.get(key)
            if record is not None:
                self.records[key] = record
        self.needed = needed

    def __bool__(self) -> bool:
        return bool(self.waiting)

    def learn(self, record: Record) -> None:
        """A record that a job made; kept only if a job needs it."""
        if record.key in self.needed:
            self.records[record.key] = record

    def next(self) -> tuple[Job, dict[str, Record]] | None:
        """The first job whose needs are known, with these, or None."""
        for position, job in enumerate(self.waiting):
            if all(key in self.records for key in job.needs):
                del self.waiting[position]
                return job, {key: self.records[key] for key in job.needs}
        return None

    def again(self, job: Job) -> None:
        """Put what is left of a job back in front."""
        self.needed |= set(job.needs)
        self.waiting.insert(0, job)
