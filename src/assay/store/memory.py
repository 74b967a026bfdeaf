"""A store in memory: for notebooks. It holds what it is given, and ends with the process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from numpy.typing import NDArray

from assay.core.records import Record


class MemoryStore:
    """Records by key; arrays by number."""

    def __init__(self) -> None:
        self._records: dict[str, Record] = {}
        self._arrays: list[Mapping[str, NDArray[Any]]] = []

    def get(self, key: str) -> Record | None:
        return self._records.get(key)

    def known(self, keys: Iterable[str]) -> dict[str, Record]:
        return {key: self._records[key] for key in keys if self.has(key)}

    def has(self, key: str, sound: bool = False) -> bool:
        return key in self._records and self._records[key].status != "failed"

    def records(self) -> list[Record]:
        return list(self._records.values())

    def put(self, record: Record) -> None:
        self._records[record.key] = record

    def save(self, arrays: Mapping[str, NDArray[Any]]) -> str:
        self._arrays.append(arrays)
        return str(len(self._arrays) - 1)

    def load(self, record: Record) -> dict[str, NDArray[Any]]:
        return dict(self._arrays[int(record.arrays)]) if record.arrays else {}
