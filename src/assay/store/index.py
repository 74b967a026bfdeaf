"""A local SQLite index of the logs: for each key, the record that counts.

The logs hold the data; the index only saves reading them again, and can be deleted at any time. It is deleted and built
again when SQLite finds it corrupt, when a row has gone, or when a row does not match its checksum. (That a key has no
row is believed after a check of the whole file, once per connection.) It is kept in memory where its file cannot be
written (a read-only folder, a file system without locks).
"""

from __future__ import annotations

import contextlib
import sqlite3
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from assay.store.index_rows import Entry, check, check_count, make_tables, refresh, row_checksum, text
from assay.store.lazy_records import RecordLine

T = TypeVar("T")

_LOCK_TIMEOUT = 60.0  # seconds to wait while another process refreshes
_BATCH = 500  # below 999, the number of parameters that every SQLite accepts


class Index:
    """The records of all logs in a folder by key, as of the last ``refresh``. Opening refreshes, too."""

    def __init__(self, path: Path, folder: Path) -> None:
        self.path = path
        self.folder = folder
        self._location = str(path)
        self._connection: sqlite3.Connection | None = None
        self._disconnect: Callable[[], object] = lambda: None
        self._is_checked = False

    def refresh(self) -> None:
        """Read the new lines of the logs."""
        self._run(lambda db: refresh(db, self.folder))

    def get(self, key: str) -> Entry | None:
        """The entry that counts for a key."""
        return self.get_many([key]).get(key)

    def get_many(self, keys: Iterable[str]) -> dict[str, Entry]:
        """The entries of those keys that have one."""
        entries: dict[str, Entry] = {}
        for batch in _batches(keys):
            entries |= self._run(partial(self._find, batch))
        return entries

    def entries(self, kind: str | None = None, most: int = -1) -> list[Entry]:
        """All entries, or those of a kind, ordered by kind and key; at most ``most`` (-1: all)."""
        return self._run(lambda db: _list(db, kind, most))

    def array_digests(self) -> set[str]:
        """The digests that the entries name."""
        return {entry.record_line.arrays for entry in self.entries() if entry.record_line.arrays}

    def damaged(self) -> int:
        """How many damaged lines the logs have."""
        return self._run(lambda db: int(db.execute("SELECT TOTAL(damaged) FROM logs").fetchone()[0]))

    def offsets(self) -> dict[str, int]:
        """How far each log was read, by its run id."""
        return self._run(lambda db: dict(db.execute("SELECT log, offset FROM logs")))

    def close(self) -> None:
        """Close the file; the next query opens it again."""
        self._disconnect()
        self._connection = None

    def _find(self, keys: Sequence[str], db: sqlite3.Connection) -> dict[str, Entry]:
        entries = _select(db, f"key IN ({','.join('?' * len(keys))})", keys)
        if len(entries) < len(set(keys)) and not self._is_checked:
            check(db)
            self._is_checked = True
        return entries

    def _run(self, action: Callable[[sqlite3.Connection], T]) -> T:
        """Run the action on the index; on an error on a new one, and at last on one in memory."""
        try:
            return action(self._open())
        except sqlite3.DatabaseError as error:
            self.close()
            is_corrupt = not isinstance(error, sqlite3.OperationalError)  # these are: locked, moved, read-only
            if is_corrupt:
                delete_index(self.path)
        try:
            return action(self._open())
        except sqlite3.DatabaseError:
            self.close()
            self._location = ":memory:"
        return action(self._open())

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            db = sqlite3.connect(self._location, timeout=_LOCK_TIMEOUT, isolation_level=None, check_same_thread=False)
            self._connection, self._disconnect = db, weakref.finalize(self, db.close)
            db.text_factory, self._is_checked = text, False
            make_tables(db)
            refresh(db, self.folder)
        return self._connection


def delete_index(path: Path) -> None:
    """Remove the file of an index, with those that SQLite keeps beside it; the next reader builds it again."""
    for suffix in ("", "-journal", "-wal", "-shm"):
        with contextlib.suppress(OSError):
            path.with_name(path.name + suffix).unlink()


def _list(db: sqlite3.Connection, kind: str | None, most: int) -> list[Entry]:
    condition, values = ("1", []) if kind is None else ("kind = ?", [kind])
    db.execute("BEGIN")  # or another process may add rows before they are counted
    with db:
        entries = _select(db, f"{condition} ORDER BY kind, key LIMIT {most}", values)
        if most < 0:
            check_count(db, len(entries), kind)
    return list(entries.values())


def _select(db: sqlite3.Connection, condition: str, values: Sequence[str]) -> dict[str, Entry]:
    query = f"SELECT key, kind, status, arrays, log, at, line, checksum FROM records WHERE {condition}"
    return dict(_entry(*row) for row in db.execute(query, values))


def _entry(*row: Any) -> tuple[str, Entry]:
    *columns, line, checksum = row
    if row_checksum(columns, line) != checksum:
        raise sqlite3.DatabaseError("a row of the index is damaged")
    key, _, status, arrays, log, position = columns
    return key, Entry(log, position, RecordLine(status, arrays, line))


def _batches(keys: Iterable[str]) -> Iterator[list[str]]:
    remaining = iter(keys)
    while batch := list(islice(remaining, _BATCH)):
        yield batch
