"""A store: everything that is known, in one folder.

``store.json``       the format
``logs/``            one log per run: the records
``arrays/``          arrays under the digest of their content
``index.sqlite``     made from the logs, can be deleted

Only the process that runs a study puts records; its workers only save arrays. An array is in place before the record
that names it, so a process killed anywhere leaves a store without that record and never a record without its array.
After a power cut, records of the last second are gone (store/log.py), and arrays may be missing or torn. A record whose
array is missing or does not fit its digest is no answer: it is computed again, and nothing is read from it.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import Any

from assay.core.errors import StoreError
from assay.core.records import Record
from assay.store.answers import Answers, Kept
from assay.store.artifacts import Array, Arrays
from assay.store.files import sweep
from assay.store.format import is_store, make_store
from assay.store.index import Index
from assay.store.ingest import Entry
from assay.store.log import Log, logs, problems
from assay.store.merge import longer_logs, merge_arrays, merge_logs

_rank = attrgetter("rank")
_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


class Store:
    """The records and arrays in a folder.

    Two stores are equal when their ``dump``s are equal.
    """

    def __init__(self, root: str | Path, *, sync: bool = True) -> None:
        self.root = Path(root)
        self.sync = sync  # False leaves it to the system when records reach the disk: a power cut may cost more of them
        self.arrays = Arrays(self.root / "arrays")
        self._log: Log | None = None
        self._fresh: dict[str, Entry] = {}  # put since the last refresh

    @classmethod
    def open(cls, path: str | Path, create: bool = True, *, sync: bool = True) -> Store:
        """The store in a folder; an empty or missing folder becomes one when ``create`` is set."""
        if not is_store(Path(path)):
            if not create:
                raise StoreError(f"there is no store at {path}: check the path, or run a study into it first")
            make_store(Path(path), sync=sync)
        return cls(path, sync=sync)

    @cached_property
    def index(self) -> Index:
        return Index(self.root / "index.sqlite", self._logs)

    @property
    def _logs(self) -> Path:
        return self.root / "logs"

    # Reading: this process's records at once, those of other processes after ``refresh``.

    def get(self, key: str) -> Record | None:
        """The record that counts for a key."""
        found = [entry for entry in (self._fresh.get(key), self.index.get(key)) if entry]
        return max(found, key=_rank).record if found else None

    def get_many(self, keys: Iterable[str]) -> dict[str, Record]:
        """The records of those keys that have one."""
        self._settle()
        return {key: entry.record for key, entry in self.index.get_many(keys).items()}

    def known(self, keys: Iterable[str]) -> Answers:
        """The answers, ok or skipped, to those keys that have one with its arrays in place. Made for many keys."""
        self._settle()
        kept = {key: entry.kept for key, entry in self.index.get_many(keys).items() if entry.kept.is_answer}
        there = self.arrays.present({line.arrays for line in kept.values() if line.arrays})
        return Answers({key: line for key, line in kept.items() if not line.arrays or line.arrays in there})

    def has(self, key: str, sound: bool = False) -> bool:
        """Is there an answer, ok or skipped, with its arrays in place? ``sound`` also reads and hashes them."""
        record = self.get(key)
        if record is None or record.status == "failed":
            return False
        return not record.arrays or (self.arrays.verify if sound else self.arrays.has)(record.arrays)

    def sample(self, kind: str, most: int) -> list[Record]:
        """At most so many records of a kind: those with the least keys, which is by chance, since keys are digests."""
        self._settle()
        return [entry.record for entry in self.index.entries(kind, most)]

    def records(self, kind: str | None = None) -> list[Record]:
        """All records, or those of a kind, ordered by kind and key."""
        self._settle()
        return [entry.record for entry in self.index.entries(kind)]

    def load(self, record: Record) -> dict[str, Array]:
        """The arrays of a record; empty when it has none."""
        try:
            return self.arrays.get(record.arrays) if record.arrays else {}
        except StoreError as error:
            raise StoreError(f"{record.kind} {record.key}: {error}") from error

    def dump(self) -> list[dict[str, Any]]:
        """The results of all records, ordered by kind and key: what two equal stores have in common.

        Records of kind "run" (the study as resolved, provenance) are left out: they tell of when and where, and so
        differ between two runs of the same study.
        """
        return [record.result for record in self.records() if record.kind != "run"]

    def refresh(self) -> None:
        """See what other processes have put."""
        self.index.refresh()
        self._fresh.clear()

    # Writing.

    def put(self, record: Record) -> None:
        """Keep a record, in the log of the current writer or else in a log of this object's own."""
        self._log = self._log or self._new_log(new_run_id())
        at, line = self._log.append(record)
        entry = Entry(self._log.path.stem, at, Kept(record.status, record.arrays, line))
        self._fresh[record.key] = max(self._fresh.get(record.key, entry), entry, key=_rank)

    def save(self, arrays: Mapping[str, Array]) -> str:
        """Keep arrays; the digest to put into a record."""
        return self.arrays.put(arrays)

    @contextmanager
    def writer(self, run_id: str) -> Iterator[Store]:
        """Within this, ``put`` appends to the log of the run, which must be new."""
        before, log = self._log, self._new_log(run_id)
        self._log = log
        try:
            yield self
        finally:
            log.close()
            self._log = before

    def close(self) -> None:
        """Let go of all files. The store can still be used; what it puts next goes into a new log."""
        if self._log is not None:
            self._log.close()
            self._log = None
        self.index.close()

    # Care.

    def verify(self) -> list[str]:
        """All that is wrong, as sentences: damaged log lines, missing and damaged arrays. Reads every byte."""
        damaged = [problem for path in logs(self._logs).values() for problem in problems(path)]
        users = {record.arrays: record for record in self.records() if record.arrays}
        return damaged + [problem for record in users.values() if (problem := self._array_problem(record))]

    def damaged(self) -> int:
        """How many damaged log lines are being skipped."""
        self._settle()
        return self.index.damaged()

    def merge(self, other: Store) -> list[str]:
        """Take in all records and arrays of another store, arrays first.

        Returns a sentence for each array that is damaged there and therefore was not copied.
        """
        changes = longer_logs(other._logs, self._logs)
        found = merge_arrays(other.arrays, self.arrays)
        merge_logs(changes, sync=self.sync)
        self.refresh()
        return found

    def sweep(self, older: float = 3600.0) -> int:
        """Remove what killed processes left and what was damaged, older than this many seconds; how many files."""
        here = [*self.root.glob("*"), *self._logs.glob("*")]
        return self.arrays.sweep(older) + sweep(here, older)

    def _settle(self) -> None:
        if self._fresh:
            self.refresh()

    def _new_log(self, run_id: str) -> Log:
        if not _RUN_ID.fullmatch(run_id):
            raise StoreError(f"{run_id!r} is not a run id: letters, digits, - and _ are expected; see new_run_id()")
        return Log(self._logs / f"{run_id}.jsonl", sync=self.sync)

    def _array_problem(self, record: Record) -> str:
        try:
            self.arrays.get_bytes(record.arrays)
        except StoreError as error:
            return f"{record.kind} {record.key}: {error}"
        return ""


def new_run_id() -> str:
    """UTC time to the microsecond and 8 random characters: sorts by time."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S-%f}-{secrets.token_hex(4)}"
