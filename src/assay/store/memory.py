"""A store without a folder: what it holds is gone with the process. For notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from assay.core.errors import StoreError
from assay.core.records import Record
from assay.store.answers import Answers, Kept, kept
from assay.store.artifacts import Array, plain


class MemoryStore:
    """Records and arrays in memory, by the rules of a store in a folder.

    What that refuses is refused here: data that is not plain, arrays of objects.
    """

    def __init__(self) -> None:
        self._kept: dict[str, Kept] = {}
        self._arrays: dict[str, dict[str, Array]] = {}

    def get(self, key: str) -> Record | None:
        """The record that counts for a key."""
        found = self._kept.get(key)
        return found.record if found else None

    def get_many(self, keys: Iterable[str]) -> dict[str, Record]:
        """The records of those keys that have one."""
        return {key: self._kept[key].record for key in keys if key in self._kept}

    def known(self, keys: Iterable[str]) -> Answers:
        """The answers, ok or skipped, to those keys that have one."""
        return Answers({key: self._kept[key] for key in keys if self.has(key)})

    def has(self, key: str, sound: bool = False) -> bool:
        """Is there an answer, ok or skipped? Arrays in memory are always sound."""
        return key in self._kept and self._kept[key].is_answer

    def records(self, kind: str | None = None) -> list[Record]:
        """All records, or those of a kind, ordered by kind and key."""
        found = [line.record for line in self._kept.values()]
        return sorted((r for r in found if kind in (None, r.kind)), key=lambda record: (record.kind, record.key))

    def load(self, record: Record) -> dict[str, Array]:
        """The arrays of a record, as copies: nobody can change what is kept."""
        if not record.arrays:
            return {}
        if record.arrays not in self._arrays:
            raise StoreError(f"{record.kind} {record.key}: array {record.arrays} is not in this store")
        return {name: array.copy() for name, array in self._arrays[record.arrays].items()}

    def put(self, record: Record) -> None:
        """Keep a record; a failure never replaces an answer."""
        line = kept(record)
        if line.is_answer or not self.has(record.key):
            self._kept[record.key] = line

    def save(self, arrays: Mapping[str, Array]) -> str:
        """Keep copies of arrays; the name to put into a record."""
        name = f"memory-{len(self._arrays) + 1}"
        self._arrays[name] = {label: plain(label, array).copy() for label, array in arrays.items()}
        return name
