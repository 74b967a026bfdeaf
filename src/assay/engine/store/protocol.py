"""What an executor needs of a store, in a folder (store.py) or in memory (memory.py)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from assay.core.records import Record
from assay.engine.store.arrays import Array


class Records(Protocol):
    """Records by key, and the arrays that they name."""

    def get(self, key: str) -> Record | None: ...

    def answers(self, keys: Iterable[str]) -> Mapping[str, Record]:
        """The answers, ok or skipped, to those keys that have one with its arrays in place."""

    def has(self, key: str, intact: bool = False) -> bool:
        """Whether there is such an answer; with ``intact``, its arrays are also read and checked."""

    def records(self, kind: str | None = None) -> list[Record]: ...

    def load(self, record: Record) -> dict[str, Array]: ...

    def put(self, record: Record) -> None: ...

    def save(self, arrays: Mapping[str, Array]) -> str: ...
