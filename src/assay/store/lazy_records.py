"""Records that are decoded on access: of most records, a planner needs only to know that they exist."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from assay.core.records import Record, Status
from assay.store.log import decode, encode


class RecordLine(NamedTuple):
    """A record as its line in a log; the line matches its checksum."""

    status: Status
    arrays: str
    line: bytes

    @property
    def record(self) -> Record:
        record = decode(self.line)
        assert record is not None
        return record

    @property
    def is_answer(self) -> bool:
        return self.status != "failed"


def record_line(record: Record) -> RecordLine:
    """A record as a line of a log."""
    return RecordLine(record.status, record.arrays, encode(record))


class LazyRecords(Mapping[str, Record]):
    """Answers by key. Membership, ``status`` and ``len`` decode no record."""

    def __init__(self, lines: Mapping[str, RecordLine]) -> None:
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
