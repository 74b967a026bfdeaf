"""A store in memory, for notebooks: its content ends with the process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from assay.core.records import Record
from assay.engine.store.arrays import Array


class MemoryStore:
    """Records and arrays in memory."""

    root = Path("memory")  # where a report says that the records are

    def __init__(self) -> None:
        self._records: dict[str, Record] = {}
        self._arrays: list[dict[str, Array]] = []

    def get(self, key: str) -> Record | None:
        """The record that counts for a key."""
        return self._records.get(key)

    def get_many(self, keys: Iterable[str]) -> dict[str, Record]:
        """The records that count for those keys that have one."""
        return {key: self._records[key] for key in keys if key in self._records}

    def sample(self, kind: str, count: int) -> list[Record]:
        """The first records of a kind."""
        return self.records(kind)[:count]

    def refresh(self) -> None:
        """Nobody else writes into it."""

    def damaged(self) -> int:
        return 0

    def answers(self, keys: Iterable[str]) -> dict[str, Record]:
        """The answers, ok or skipped, to those keys that have one."""
        return {key: self._records[key] for key in keys if self.has(key)}

    def has(self, key: str, intact: bool = False) -> bool:
        """Whether there is an answer, ok or skipped. Arrays in memory are always intact."""
        return key in self._records and self._records[key].status != "failed"

    def records(self, kind: str | None = None) -> list[Record]:
        """All records, or those of a kind."""
        return [record for record in self._records.values() if kind in (None, record.kind)]

    def load(self, record: Record) -> dict[str, Array]:
        """Copies of the arrays of a record, so that callers cannot change the stored ones."""
        return {name: array.copy() for name, array in self._arrays[int(record.arrays)].items()} if record.arrays else {}

    def put(self, record: Record) -> None:
        """Store a record; a failure never replaces an answer."""
        if record.status != "failed" or not self.has(record.key):
            self._records[record.key] = record

    def save(self, arrays: Mapping[str, Array]) -> str:
        """Store copies of arrays in C order, as a folder returns them: the last bits of sums depend on the layout."""
        self._arrays.append({name: np.array(array, order="C") for name, array in arrays.items()})
        return str(len(self._arrays) - 1)
