"""A store: all records and arrays, in one folder.

``store.json``       the format
``logs/``            one log per run: the records
``arrays/``          arrays, named by the digest of their content
``running/``         whose turn it is to write (engine/store/lease.py)

Only the process that runs a study puts records; its workers only save arrays. An array is saved before the record that
names it. So a killed process may leave an array without its record, but never a record without its array. After a power
cut, records of the last second are lost (log.py), and arrays may be missing or damaged. A record whose array is
missing or does not match its digest is no answer: it is not read, and its artifact is computed again.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from heapq import nsmallest
from pathlib import Path
from typing import Any

from assay.core.errors import StoreError
from assay.core.records import Record
from assay.engine.store.arrays import Array, Arrays
from assay.engine.store.damage import find_damage
from assay.engine.store.entries import Entries, LazyRecords
from assay.engine.store.files import Step, no_step, remove_waste
from assay.engine.store.format import is_store, make_store
from assay.engine.store.log import Line, Log
from assay.engine.store.merge import longer_logs, merge_arrays, merge_logs

_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


class Store:
    """The records and arrays in a folder.

    Two stores are equal when their ``dump``s are equal.
    """

    def __init__(self, root: str | Path, *, sync: bool = True) -> None:
        self.root = Path(root)
        self.sync = sync  # False: the system decides when records reach the disk, and a power cut may lose more of them
        self.arrays = Arrays(self.root / "arrays")
        self.entries = Entries(self._logs)
        self._log: Log | None = None

    @classmethod
    def open(cls, path: str | Path, create: bool = True, *, sync: bool = True) -> Store:
        """The store in a folder; an empty or missing folder becomes one when ``create`` is set."""
        if not is_store(Path(path)):
            if not create:
                raise StoreError(f"there is no store at {path}: check the path, or run a study into it first")
            make_store(Path(path), sync=sync)
        return cls(path, sync=sync)

    @property
    def _logs(self) -> Path:
        return self.root / "logs"

    # Reading. This process's records are visible at once, those of other processes after ``refresh``.

    def get(self, key: str) -> Record | None:
        """The record that counts for a key."""
        return self.get_many([key]).get(key)

    def get_many(self, keys: Iterable[str]) -> dict[str, Record]:
        """The records of those keys that have one."""
        by_key = self.entries.by_key
        return self.entries.records(by_key[key] for key in dict.fromkeys(keys) if key in by_key)

    def answers(self, keys: Iterable[str]) -> LazyRecords:
        """The answers, ok or skipped, to those keys that have one with its arrays in place. Made for many keys."""
        by_key = self.entries.by_key
        answers = {key: entry for key in keys if (entry := by_key.get(key)) is not None and entry.is_answer}
        present = self.arrays.present({entry.head.arrays for entry in answers.values()}) | {""}
        return LazyRecords(self.entries, {key: entry for key, entry in answers.items() if entry.head.arrays in present})

    def has(self, key: str, intact: bool = False) -> bool:
        """Whether there is an answer, ok or skipped, with its arrays in place; ``intact`` also hashes them."""
        entry = self.entries.by_key.get(key)
        if entry is None or not entry.is_answer:
            return False
        arrays = entry.head.arrays
        return not arrays or (self.arrays.verify if intact else self.arrays.has)(arrays)

    def sample(self, kind: str, most: int) -> list[Record]:
        """At most ``most`` records of a kind, those with the smallest keys: a random choice, since keys are digests."""
        keys = (key for key, entry in self.entries.by_key.items() if entry.head.kind == kind)
        return list(self.get_many(nsmallest(most, keys)).values())

    def records(self, kind: str | None = None) -> list[Record]:
        """All records, or those of a kind, ordered by kind and key."""
        return list(self.entries.records(self.entries.of_kind(kind)).values())

    def array_digests(self) -> set[str]:
        """The digests of all arrays that records name; of two answers to a key, that of the one that counts."""
        return {entry.head.arrays for entry in self.entries.by_key.values()} - {""}

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
        self.entries.refresh()

    # Writing.

    def put(self, record: Record) -> None:
        """Store a record in the log of the current ``writer``, else in a log of this object."""
        self._log = self._log or self._new_log(new_run_id())
        self.entries.add(self._log.path.stem, Line(*self._log.append(record)))

    def save(self, arrays: Mapping[str, Array]) -> str:
        """Store arrays; returns their digest, for a record."""
        return self.arrays.put(arrays)

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
        """Close the log. The store can still be used; the next record goes into a new one."""
        if self._log is not None:
            self._log.close()
            self._log = None

    # Maintenance.

    def verify(self) -> list[str]:
        """All damage, as sentences (``find_damage``). Reads every byte."""
        return [damage.sentence for damage in find_damage(self.root)]

    def damaged(self) -> int:
        """The number of damaged log lines, which are skipped."""
        self.refresh()
        return self.entries.damaged

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

    def _new_log(self, run_id: str) -> Log:
        if not _RUN_ID.fullmatch(run_id):
            raise StoreError(f"{run_id!r} is not a run id: letters, digits, - and _ are expected; see new_run_id()")
        return Log(self._logs / f"{run_id}.jsonl", sync=self.sync)


def new_run_id() -> str:
    """A run id: UTC time to the microsecond and 8 random characters. Run ids sort by time."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S-%f}-{secrets.token_hex(4)}"
