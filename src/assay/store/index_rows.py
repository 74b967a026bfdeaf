"""Filling the tables of the index from the logs.

Of two records of a key, the later one counts, except that a failure never replaces an answer (ok or skipped). Records
are ordered in time by (log name, position). The record that counts is the maximum of a total order. So it does not
depend on the order in which logs are read or merged, or on reading a line twice.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from assay.core.records import Record
from assay.store.fault_points import fault_point
from assay.store.lazy_records import RecordLine
from assay.store.log import Line, lines, logs, starts_line

_VERSION = 3

_SCHEMA = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS records
(key TEXT PRIMARY KEY, kind TEXT, status TEXT, arrays TEXT, log TEXT, at INTEGER, line BLOB, checksum BLOB);
CREATE INDEX IF NOT EXISTS by_kind ON records (kind, key);
CREATE TABLE IF NOT EXISTS logs (log TEXT PRIMARY KEY, offset INTEGER, size INTEGER, damaged INTEGER);
CREATE TABLE IF NOT EXISTS totals (kind TEXT PRIMARY KEY, rows INTEGER);
PRAGMA user_version = {_VERSION};
COMMIT;
"""

_KEEP_BEST = """
INSERT INTO records VALUES (:key, :kind, :status, :arrays, :log, :at, :line, :checksum) ON CONFLICT (key) DO UPDATE
SET kind = excluded.kind, status = excluded.status, arrays = excluded.arrays,
    log = excluded.log, at = excluded.at, line = excluded.line, checksum = excluded.checksum
WHERE (excluded.status != 'failed', excluded.log, excluded.at) > (records.status != 'failed', records.log, records.at)
"""

_UPDATE_LOG = """
INSERT INTO logs VALUES (:log, :offset, :size, :damaged) ON CONFLICT (log) DO UPDATE
SET offset = excluded.offset, size = excluded.size, damaged = logs.damaged + excluded.damaged
"""


class Entry(NamedTuple):
    """A record and its position in a log. Of the entries of a key, the one with the highest ``rank`` counts."""

    log: str
    position: int
    record_line: RecordLine

    @property
    def record(self) -> Record:
        return self.record_line.record

    @property
    def rank(self) -> tuple[bool, str, int]:
        """Whether it is an answer, then its position in time."""
        return (self.record_line.is_answer, self.log, self.position)


def make_tables(db: sqlite3.Connection) -> None:
    """Make the tables, unless they exist."""
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if version not in (0, _VERSION):
        raise sqlite3.DatabaseError(f"index of version {version}")
    if version == 0:
        db.executescript(_SCHEMA)


def is_current(db: sqlite3.Connection) -> bool:
    """Whether this version wrote the tables."""
    return bool(db.execute("PRAGMA user_version").fetchone()[0] == _VERSION)


def text(raw: bytes) -> str:
    """For ``text_factory``: a text that is not UTF-8 is damaged, which its row's checksum shows."""
    return raw.decode("utf-8", "backslashreplace")


def check(db: sqlite3.Connection) -> None:
    """DatabaseError if a row has gone, or if one cannot be found by its key or kind. Reads the whole file.

    What a row contains is checked when it is read (``row_checksum``).
    """
    db.execute("BEGIN")  # or another process may add rows before they are counted
    with db:
        (complaint,) = db.execute("PRAGMA integrity_check(1)").fetchone()
        if complaint != "ok":
            raise sqlite3.DatabaseError(complaint)
        check_count(db, db.execute("SELECT COUNT(*) FROM records").fetchone()[0])


def check_count(db: sqlite3.Connection, count: int, kind: str | None = None) -> None:
    """DatabaseError unless this is the number of rows, or of those of a kind."""
    total = db.execute("SELECT TOTAL(rows) FROM totals WHERE ?1 IS NULL OR kind = ?1", [kind]).fetchone()[0]
    if count != total:
        raise sqlite3.DatabaseError(f"it has {count} rows instead of {total:.0f}")


def row_checksum(columns: Sequence[object], line: object) -> bytes:
    """Of the line of a record together with the other columns of its row; empty where the line is none."""
    if not isinstance(line, bytes):
        return b""
    return hashlib.sha256(repr(tuple(columns)).encode("utf-8", "backslashreplace") + line).digest()[:8]


def refresh(db: sqlite3.Connection, folder: Path) -> None:
    """Read the new lines of the logs in a folder. Another process that refreshes waits for its turn."""
    if _sizes(folder) == dict(db.execute("SELECT log, size FROM logs")):
        return
    db.execute("BEGIN IMMEDIATE")
    with db:
        _ingest(db, folder)
        fault_point("index.uncommitted")
    fault_point("index.refreshed")


def _ingest(db: sqlite3.Connection, folder: Path) -> None:
    sizes = _sizes(folder)
    ingested = {log: (offset, size) for log, offset, size in db.execute("SELECT log, offset, size FROM logs")}
    if any(sizes.get(log, -1) < offset for log, (offset, _) in ingested.items()):  # a log was removed or cut
        db.execute("DELETE FROM records")
        db.execute("DELETE FROM logs")
        ingested = {}
    for log, size in sizes.items():
        offset, ingested_size = ingested.get(log, (0, -1))
        if size != ingested_size:
            _ingest_log(db, folder / f"{log}.jsonl", offset, size)
    db.execute("DELETE FROM totals")
    db.execute("INSERT INTO totals SELECT kind, COUNT(*) FROM records GROUP BY kind")


def _ingest_log(db: sqlite3.Connection, path: Path, offset: int, size: int) -> None:
    if not starts_line(path, offset):
        raise sqlite3.DatabaseError(f"{path} has no line that starts at {offset}")
    progress = {"offset": offset, "size": size, "damaged": 0}

    def rows() -> Iterator[dict[str, Any]]:
        for line in lines(path, offset):
            progress["offset"] = line.end
            if line.record is None:
                progress["damaged"] += 1
            else:
                yield _row(path.stem, line, line.record)

    db.executemany(_KEEP_BEST, rows())
    db.execute(_UPDATE_LOG, {"log": path.stem, **progress})


def _row(log: str, line: Line, record: Record) -> dict[str, Any]:
    columns = (record.key, record.kind, record.status, record.arrays, log, line.start)
    names = ("key", "kind", "status", "arrays", "log", "at")
    return {
        **dict(zip(names, columns, strict=True)),
        "line": line.raw,
        "checksum": row_checksum(columns, line.raw),
    }


def _sizes(folder: Path) -> dict[str, int]:
    return {log: path.stat().st_size for log, path in logs(folder).items()}
