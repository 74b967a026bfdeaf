"""A store: all records and arrays, in one folder.

``store.json``       the format
``logs/``            one log per run: the records
``arrays/``          arrays, named by the digest of their content
``index.sqlite``     made from the logs, can be deleted
``running/``         one file per run that is writing now (store/running.py)

Only the process that runs a study puts records; its workers only save arrays. An array is saved before the record that
names it. So a killed process may leave an array without its record, but never a record without its array. After a power
cut, records of the last second are lost (store/log.py), and arrays may be missing or damaged. A record whose array is
missing or does not match its digest is no answer: it is not read, and its artifact is computed again.
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
from assay.store.arrays import Array, Arrays
from assay.store.damage import find_damage
from assay.store.files import Step, no_step, remove_waste
from assay.store.format import is_store, make_store
from assay.store.index import Index
from assay.store.index_rows import Entry
from assay.store.lazy_records import LazyRecords, RecordLine
from assay.store.log import Log
from assay.store.merge import longer_logs, merge_arrays, merge_logs

_rank = attrgetter("rank")
_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


class Store:
    """The records and arrays in a folder.

    Two stores are equal when their ``dump``s are equal.
    """

    def __init__(self, root: str | Path, *, sync: bool = True) -> None:
        self.root = Path(root)
        self.sync = sync  # False: the system decides when records reach the disk, and a power cut may lose more of them
        self.arrays = Arrays(self.root / "arrays")
        self._log: Log | None = None
        self._unindexed: dict[str, Entry] = {}  # put since the last refresh

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

    # Reading. This process's records are visible at once, those of other processes after ``refresh``.

    def get(self, key: str) -> Record | None:
        """The record that counts for a key."""
        entries = [entry for entry in (self._unindexed.get(key), self.index.get(key)) if entry]
        return max(entries, key=_rank).record if entries else None

    def get_many(self, keys: Iterable[str]) -> dict[str, Record]:
        """The records of those keys that have one."""
        self._index_new_records()
        return {key: entry.record for key, entry in self.index.get_many(keys).items()}

    def answers(self, keys: Iterable[str]) -> LazyRecords:
        """The answers, ok or skipped, to those keys that have one with its arrays in place. Made for many keys."""
        self._index_new_records()
        lines = {
            key: entry.record_line for key, entry in self.index.get_many(keys).items() if entry.record_line.is_answer
        }
        present_arrays = self.arrays.present({line.arrays for line in lines.values() if line.arrays})
        return LazyRecords(
            {key: line for key, line in lines.items() if not line.arrays or line.arrays in present_arrays}
        )

    def has(self, key: str, intact: bool = False) -> bool:
        """Whether there is an answer, ok or skipped, with its arrays in place; ``intact`` also hashes them."""
        record = self.get(key)
        if record is None or record.status == "failed":
            return False
        return not record.arrays or (self.arrays.verify if intact else self.arrays.has)(record.arrays)

    def sample(self, kind: str, most: int) -> list[Record]:
        """At most ``most`` records of a kind, those with the smallest keys: a random choice, since keys are digests."""
        self._index_new_records()
        return [entry.record for entry in self.index.entries(kind, most)]

    def records(self, kind: str | None = None) -> list[Record]:
        """All records, or those of a kind, ordered by kind and key."""
        self._index_new_records()
        return [entry.record for entry in self.index.entries(kind)]

    def array_digests(self) -> set[str]:
        """The digests of all arrays that records name; of two answers to a key, that of the one that counts."""
        self._index_new_records()
        return self.index.array_digests()

    def load(self, record: Record) -> dict[str, Array]:
        """The arrays of a record; empty when it has none."""
        try:
            return self.arrays.get(record.arrays) if record.arrays else {}
        except StoreError as error:
            raise StoreError(f"{record.kind} {record.key}: {error}") from error

    def dump(self) -> list[dict[str, Any]]:
        """The results of all records, ordered by kind and key; equal for two equal stores.

        Records of kind "run" (the resolved study, provenance) are left out: they contain times and machines, and so
        differ between two runs of the same study.
        """
        return [record.result for record in self.records() if record.kind != "run"]

    def refresh(self) -> None:
        """Make the records of other processes visible."""
        self.index.refresh()
        self._unindexed.clear()

    # Writing.

    def put(self, record: Record) -> None:
        """Store a record in the log of the current ``writer``, else in a log of this object."""
        self._log = self._log or self._new_log(new_run_id())
        position, line = self._log.append(record)
        entry = Entry(self._log.path.stem, position, RecordLine(record.status, record.arrays, line))
        self._unindexed[record.key] = max(self._unindexed.get(record.key, entry), entry, key=_rank)

    def save(self, arrays: Mapping[str, Array]) -> str:
        """Store arrays; returns their digest, for a record."""
        return self.arrays.put(arrays)

    def flush(self) -> None:
        """Force the records that were put to disk; may be called in another thread."""
        if self._log is not None:
            self._log.flush()

    @contextmanager
    def writer(self, run_id: str) -> Iterator[Store]:
        """A context in which ``put`` appends to the log of this run, which must be new."""
        previous, log = self._log, self._new_log(run_id)
        self._log = log
        try:
            yield self
        finally:
            log.close()
            self._log = previous

    def close(self) -> None:
        """Close all files. The store can still be used; the next record goes into a new log."""
        if self._log is not None:
            self._log.close()
            self._log = None
        self.index.close()

    # Maintenance.

    def verify(self) -> list[str]:
        """All damage, as sentences (``find_damage``). Reads every byte."""
        return [damage.sentence for damage in find_damage(self.root)]

    def damaged(self) -> int:
        """The number of damaged log lines, which are skipped."""
        self._index_new_records()
        return self.index.damaged()

    def merge(self, other: Store, step: Step = no_step) -> list[str]:
        """Copy all records and arrays of another store into this one, arrays first.

        Returns a sentence for each array that is damaged there and was not copied.
        """
        changes = longer_logs(other._logs, self._logs)
        array_problems = merge_arrays(other.arrays, self.arrays, step)
        merge_logs(changes, sync=self.sync)
        self.refresh()
        return array_problems

    def remove_waste(self, older: float = 3600.0) -> int:
        """Remove partial and damaged files older than this many seconds; returns their number."""
        candidates = [*self.root.glob("*"), *self._logs.glob("*")]
        return self.arrays.remove_waste(older) + remove_waste(candidates, older)

    def _index_new_records(self) -> None:
        if self._unindexed:
            self.refresh()

    def _new_log(self, run_id: str) -> Log:
        if not _RUN_ID.fullmatch(run_id):
            raise StoreError(f"{run_id!r} is not a run id: letters, digits, - and _ are expected; see new_run_id()")
        return Log(self._logs / f"{run_id}.jsonl", sync=self.sync)


def new_run_id() -> str:
    """A run id: UTC time to the microsecond and 8 random characters. Run ids sort by time."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S-%f}-{secrets.token_hex(4)}"
