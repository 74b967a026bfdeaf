"""What an engine asks of a store, be it a folder or memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from numpy.typing import NDArray

from assay.core.records import Record


class Records(Protocol):
    """Records by key, and the arrays that they name."""

    def known(self, keys: Iterable[str]) -> dict[str, Record]:
        """The answers (ok or skipped) among these keys, those whose arrays are in place."""

    def has(self, key: str, sound: bool = False) -> bool:
        """Is there an answer with its arrays in place? ``sound`` reads and checks these."""

    def get(self, key: str) -> Record | None: ...

    def put(self, record: Record) -> None: ...

    def save(self, arrays: Mapping[str, NDArray[Any]]) -> str: ...

    def load(self, record: Record) -> dict[str, NDArray[Any]]: ...
