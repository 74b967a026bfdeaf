"""Records that are read when they are asked for: of most, a planner only wants to know that they are there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from assay.core.records import Record, Status
from assay.store.log import decode, encode


class Kept(NamedTuple):
    """A record as its line, which fits its checksum."""

    status: Status
    arrays: str
    line: bytes

    @property
    def record(self) -> Record:
        found = decode(self.line)
        assert found is not None
        return found

    @property
    def is_answer(self) -> bool:
        return self.status != "failed"


def kept(record: Record) -> Kept:
    """A record as it would come back from a log."""
    return Kept(record.status, record.arrays, encode(record))


class Answers(Mapping[str, Record]):
    """Answers by key. Membership, ``status`` and ``len`` read no record."""

    def __init__(self, lines: Mapping[str, Kept]) -> None:
        self._lines = lines

    def __getitem__(self, key: str) -> Record:
        return self._lines[key].record

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)

    def __contains__(self, key: object) -> bool:
        return key in self._lines

    def status(self, key: str) -> Status | None:
        """Ok or skipped; None where there is no answer."""
        return self._lines[key].status if key in self._lines else None
