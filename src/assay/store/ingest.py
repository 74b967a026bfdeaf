"""From logs to the tables of the index.

Of two records of a key, the later one counts, but a failure never replaces an answer (ok or skipped). Later means by
(log name, position). That is the maximum of a total order, so neither the order in which logs are read or merged nor
reading a line twice makes a difference.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from assay.core.records import Record
from assay.store.answers import Kept
from assay.store.log import Line, lines, logs

_VERSION = 2

_SCHEMA = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS records
(key TEXT PRIMARY KEY, kind TEXT, status TEXT, arrays TEXT, log TEXT, at INTEGER, line BLOB);
CREATE INDEX IF NOT EXISTS by_kind ON records (kind, key);
CREATE TABLE IF NOT EXISTS logs (log TEXT PRIMARY KEY, offset INTEGER, size INTEGER, damaged INTEGER);
PRAGMA user_version = {_VERSION};
COMMIT;
"""

_KEEP_BEST = """
INSERT INTO records VALUES (:key, :kind, :status, :arrays, :log, :at, :line) ON CONFLICT (key) DO UPDATE
SET kind = excluded.kind, status = excluded.status, arrays = excluded.arrays,
    log = excluded.log, at = excluded.at, line = excluded.line
WHERE (excluded.status != 'failed', excluded.log, excluded.at) > (records.status != 'failed', records.log, records.at)
"""

_NOTE = """
INSERT INTO logs VALUES (:log, :offset, :size, :damaged) ON CONFLICT (log) DO UPDATE
SET offset = excluded.offset, size = excluded.size, damaged = logs.damaged + excluded.damaged
"""


class Entry(NamedTuple):
    """A record and its place. Of the entries of a key, the one with the highest ``rank`` counts."""

    log: str
    at: int
    kept: Kept

    @property
    def record(self) -> Record:
        return self.kept.record

    @property
    def rank(self) -> tuple[bool, str, int]:
        """Whether it is an answer, then how late it is."""
        return (self.kept.is_answer, self.log, self.at)


def prepare(db: sqlite3.Connection) -> None:
    """Make the tables, unless they are there."""
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if version not in (0, _VERSION):
        raise sqlite3.DatabaseError(f"index of version {version}")
    if version == 0:
        db.executescript(_SCHEMA)


def refresh(db: sqlite3.Connection, folder: Path) -> None:
    """Take in what the logs in a folder have gained. Another process that does the same waits for its turn."""
    if _sizes(folder) == dict(db.execute("SELECT log, size FROM logs")):
        return
    db.execute("BEGIN IMMEDIATE")
    with db:
        _ingest(db, folder)


def _ingest(db: sqlite3.Connection, folder: Path) -> None:
    sizes = _sizes(folder)
    seen = {log: (offset, size) for log, offset, size in db.execute("SELECT log, offset, size FROM logs")}
    if any(sizes.get(log, -1) < offset for log, (offset, _) in seen.items()):  # a log was removed or cut
        db.execute("DELETE FROM records")
        db.execute("DELETE FROM logs")
        seen = {}
    for log, size in sizes.items():
        offset, known = seen.get(log, (0, -1))
        if size != known:
            _ingest_log(db, folder / f"{log}.jsonl", offset, size)


def _ingest_log(db: sqlite3.Connection, path: Path, offset: int, size: int) -> None:
    note = {"offset": offset, "size": size, "damaged": 0}

    def rows() -> Iterator[dict[str, Any]]:
        for line in lines(path, offset):
            note["offset"] = line.end
            if line.record is None:
                note["damaged"] += 1
            else:
                yield _row(path.stem, line, line.record)

    db.executemany(_KEEP_BEST, rows())
    db.execute(_NOTE, {"log": path.stem, **note})


def _row(log: str, line: Line, record: Record) -> dict[str, Any]:
    told = {"key": record.key, "kind": record.kind, "status": record.status, "arrays": record.arrays}
    return {**told, "log": log, "at": line.at, "line": line.raw}


def _sizes(folder: Path) -> dict[str, int]:
    return {log: path.stat().st_size for log, path in logs(folder).items()}
