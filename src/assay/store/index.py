"""A local SQLite index of the logs: which record of a key counts.

The logs are the truth; the index saves reading them again. It can be deleted at any time. It deletes itself when
SQLite finds it corrupt or a line in it does not fit its checksum, and lives in memory where it cannot be written (a
read-only folder, a file system without locks).
"""

from __future__ import annotations

import contextlib
import sqlite3
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TypeVar

from assay.core.records import Status
from assay.store.answers import Kept
from assay.store.ingest import Entry, prepare, refresh
from assay.store.log import fits

T = TypeVar("T")

_PATIENCE = 60.0  # seconds to wait while another process refreshes
_BATCH = 500  # every SQLite takes 999 parameters


class Index:
    """Records by key, out of all logs in a folder, as of the last ``refresh`` (opening is one)."""

    def __init__(self, path: Path, folder: Path) -> None:
        self.path = path
        self.folder = folder
        self._place = str(path)
        self._connection: sqlite3.Connection | None = None
        self._disconnect: Callable[[], object] = lambda: None

    def refresh(self) -> None:
        """Take in what the logs have gained."""
        self._run(lambda db: refresh(db, self.folder))

    def get(self, key: str) -> Entry | None:
        """The entry that counts for a key."""
        return self.get_many([key]).get(key)

    def get_many(self, keys: Iterable[str]) -> dict[str, Entry]:
        """The entries of those keys that have one."""
        found: dict[str, Entry] = {}
        for batch in _batches(keys):
            found |= self._select(f"key IN ({','.join('?' * len(batch))})", batch)
        return found

    def entries(self, kind: str | None = None, most: int = -1) -> list[Entry]:
        """All entries, or those of a kind, ordered by kind and key; the first ones where ``most`` is given."""
        where, values = ("1", []) if kind is None else ("kind = ?", [kind])
        return list(self._select(f"{where} ORDER BY kind, key LIMIT {most}", values).values())

    def damaged(self) -> int:
        """How many damaged lines the logs have."""
        return self._run(lambda db: int(db.execute("SELECT TOTAL(damaged) FROM logs").fetchone()[0]))

    def close(self) -> None:
        """Let go of the file; the next question opens it again."""
        self._disconnect()
        self._connection = None

    def _select(self, where: str, values: Sequence[str]) -> dict[str, Entry]:
        query = f"SELECT key, log, at, status, arrays, line FROM records WHERE {where}"
        return self._run(lambda db: dict(_entry(*row) for row in db.execute(query, values)))

    def _run(self, action: Callable[[sqlite3.Connection], T]) -> T:
        """Ask the index as it is, else a new one, else one in memory."""
        try:
            return action(self._open())
        except sqlite3.DatabaseError as error:
            self.close()
            if not isinstance(error, sqlite3.OperationalError):  # that would be locked, moved, read-only: not corrupt
                self._delete()
        try:
            return action(self._open())
        except sqlite3.DatabaseError:
            self.close()
            self._place = ":memory:"
        return action(self._open())

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            db = sqlite3.connect(self._place, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
            self._connection, self._disconnect = db, weakref.finalize(self, db.close)
            prepare(db)
            refresh(db, self.folder)
        return self._connection

    def _delete(self) -> None:
        for suffix in ("", "-journal", "-wal", "-shm"):
            with contextlib.suppress(OSError):
                self.path.with_name(self.path.name + suffix).unlink()


def _entry(key: str, log: str, at: int, status: Status, arrays: str, line: bytes) -> tuple[str, Entry]:
    if not fits(line):
        raise sqlite3.DatabaseError("a line in the index is damaged")
    return key, Entry(log, at, Kept(status, arrays, line))


def _batches(keys: Iterable[str]) -> Iterator[list[str]]:
    rest = iter(keys)
    while batch := list(islice(rest, _BATCH)):
        yield batch
