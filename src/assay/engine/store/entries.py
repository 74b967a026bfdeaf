"""Which record counts for each key, and where its line is: read from the logs by each process that opens a store.

Of two records of a key, the later one counts, except that a failure never replaces an answer (ok or skipped). Records
are ordered in time by (log name, position). The record that counts is the maximum of a total order. So it does not
depend on the order in which logs are read or merged, or on reading a line twice.

Of a line, only its checksum and its head are read at first; records are decoded on access.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from assay.core.errors import StoreError
from assay.core.records import Record
from assay.engine.store.files import open_file
from assay.engine.store.log import Head, Line, decode, lines, logs


class Entry(NamedTuple):
    """A record's head, and where its line is."""

    head: Head
    log: str
    start: int
    length: int

    @property
    def is_answer(self) -> bool:
        return self.head.status != "failed"

    @property
    def rank(self) -> tuple[bool, str, int]:
        """Of the entries of a key, the one with the highest rank counts."""
        return (self.is_answer, self.log, self.start)


class Entries:
    """The entries of all logs in a folder by key, as of the last ``refresh``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._by_key: dict[str, Entry] | None = None  # None before the first refresh
        self._offsets: dict[str, int] = {}  # how far each log was read
        self.damaged = 0  # lines

    @property
    def by_key(self) -> dict[str, Entry]:
        if self._by_key is None:
            self.refresh()
        assert self._by_key is not None
        return self._by_key

    def refresh(self) -> None:
        """Read the new lines of the logs; all lines if a log was removed or cut."""
        sizes = {log: path.stat().st_size for log, path in logs(self.folder).items()}
        if self._by_key is None or any(sizes.get(log, -1) < offset for log, offset in self._offsets.items()):
            self._by_key, self._offsets, self.damaged = {}, {}, 0
        for log, size in sizes.items():
            offset = self._offsets.setdefault(log, 0)
            if size > offset or not offset:  # a file whose size the system does not know is read, too
                for line in lines(self._path(log), offset):
                    self.add(log, line)

    def add(self, log: str, line: Line) -> None:
        """Take in a line, which begins where this log was read to; before the first refresh, that will read it."""
        if self._by_key is None:
            return
        self._offsets[log] = line.end
        head = line.head
        if head is None:
            self.damaged += 1
            return
        entry = Entry(head, log, line.start, len(line.raw))
        old = self._by_key.get(head.key)
        if old is None or entry.rank > old.rank:
            self._by_key[head.key] = entry

    def of_kind(self, kind: str | None) -> list[Entry]:
        """Those of a kind, or all, ordered by kind and key."""
        found = [entry for entry in self.by_key.values() if kind in (None, entry.head.kind)]
        return sorted(found, key=lambda entry: (entry.head.kind, entry.head.key))

    def records(self, entries: Iterable[Entry]) -> dict[str, Record]:
        """The records of entries by key, in this order."""
        entries = list(entries)
        in_order = sorted(entries, key=lambda entry: (entry.log, entry.start))
        records = {
            key: record
            for log, group in groupby(in_order, lambda entry: entry.log)
            for key, record in self._read(log, group)
        }
        return {entry.head.key: records[entry.head.key] for entry in entries}

    def _read(self, log: str, entries: Iterable[Entry]) -> Iterator[tuple[str, Record]]:
        with open_file(self._path(log)) as file:
            for entry in entries:
                file.seek(entry.start)
                record = decode(file.read(entry.length))
                key, kind, *_ = entry.head
                if record is None or record.key != key:
                    raise StoreError(
                        f"{file.name} has no record of {kind} {key} at byte {entry.start}: it was changed while it was "
                        "read, or somebody else wrote it. See 'assay store verify'"
                    )
                yield key, record

    def _path(self, log: str) -> Path:
        return self.folder / f"{log}.jsonl"


class LazyRecords(Mapping[str, Record]):
    """Records that are decoded on access: of most, a planner needs only to know that they exist."""

    def __init__(self, entries: Entries, chosen: Mapping[str, Entry]) -> None:
        self._entries = entries
        self._chosen = chosen

    def __getitem__(self, key: str) -> Record:
        return self._entries.records([self._chosen[key]])[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._chosen)

    def __len__(self) -> int:
        return len(self._chosen)

    def __contains__(self, key: object) -> bool:
        return key in self._chosen
