"""What an executor needs of a store, in a folder (store.py) or in memory (memory.py)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
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


class RunStore(Records, Protocol):
    """What a report needs besides."""

    @property
    def root(self) -> Path: ...

    def get_many(self, keys: Iterable[str]) -> Mapping[str, Record]:
        """The records that count for those keys that have one."""

    def sample(self, kind: str, count: int) -> Iterable[Record]:
        """At most so many records of a kind."""

    def refresh(self) -> None: ...

    def damaged(self) -> int:
        """How many files or lines cannot be read."""
