"""What an engine asks of a store, be it a folder (store.py) or memory (memory.py)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from assay.core.records import Record
from assay.store.artifacts import Array


class Records(Protocol):
    """Records by key, and the arrays that they name."""

    def get(self, key: str) -> Record | None: ...

    def known(self, keys: Iterable[str]) -> Mapping[str, Record]:
        """The answers, ok or skipped, to those keys that have one with its arrays in place."""

    def has(self, key: str, sound: bool = False) -> bool:
        """Is there such an answer? ``sound`` also reads and checks its arrays."""

    def records(self, kind: str | None = None) -> list[Record]: ...

    def load(self, record: Record) -> dict[str, Array]: ...

    def put(self, record: Record) -> None: ...

    def save(self, arrays: Mapping[str, Array]) -> str: ...
