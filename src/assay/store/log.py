"""A run's log: one checksummed line per record, appended and never changed.

A line is 16 hexadecimal characters of the sha256 of a JSON text, a space, the text, a newline. A process killed in
the middle of a line leaves a torn last line: it has no newline and does not count. A complete line that does not
match its checksum is damaged: readers skip and count it, ``problems`` names it.

A killed process loses no line that was appended. The file is forced to disk at most once a second and when it is
closed: a power cut loses the lines of less than a second before the last one, and what it tears is no record.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from assay.core.errors import StoreError
from assay.core.records import Record, canonical
from assay.store.faults import fault
from assay.store.files import sync_folder

_SYNC_EVERY = 1.0  # seconds; forcing each line to disk would cost more than many a block


class Line(NamedTuple):
    """A complete line of a log; ``record`` is None when it is damaged."""

    at: int
    raw: bytes
    record: Record | None

    @property
    def end(self) -> int:
        return self.at + len(self.raw)


class Reading(NamedTuple):
    """The sound records of a log, the offset after its last complete line, and the count of damaged lines."""

    records: list[Record]
    offset: int
    damaged: int


class Log:
    """The only writer of a log that did not exist before: two runs never share one."""

    def __init__(self, path: Path, *, sync: bool = True) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o666)
        except FileExistsError:
            raise StoreError(f"{path} belongs to another run; each run needs a run id of its own") from None
        self.path = path
        self.sync = sync
        self.size = 0
        self._synced = time.monotonic()
        self._finalize = weakref.finalize(self, _close, self._handle, sync)
        if sync:
            sync_folder(path.parent)

    def append(self, record: Record) -> tuple[int, bytes]:
        """Add a record; when this returns, no crash of the process loses it. Its offset and its line."""
        raw = encode(record)
        return self._write(raw), raw

    def close(self) -> None:
        """Force what is left to disk and let go of the file."""
        self._finalize()
        self._handle = -1  # the number may soon be another file's

    def _write(self, raw: bytes) -> int:
        at = self.size
        fault("record.partial", lambda: os.write(self._handle, raw[: len(raw) // 2]))
        if os.write(self._handle, raw) != len(raw):
            os.ftruncate(self._handle, at)  # or the next line would be glued to this torn one
            raise StoreError(f"{self.path} cannot grow: is the disk full?")
        self.size += len(raw)
        if self.sync and time.monotonic() - self._synced >= _SYNC_EVERY:
            os.fsync(self._handle)
            self._synced = time.monotonic()
        return at


def _close(handle: int, sync: bool) -> None:
    try:
        if sync:
            os.fsync(handle)
    finally:
        os.close(handle)


def encode(record: Record) -> bytes:
    """The line of a record, which ``decode`` reads."""
    if not _is_key(record.key):
        raise StoreError(f"{record.kind} {record.key!r}: a key is one or more printable ASCII characters")
    try:
        text = canonical(record.to_json())
    except (TypeError, ValueError) as error:
        raise StoreError(f"{record.kind} {record.key} is not plain data without NaN or infinity: {error}") from error
    data = text.encode("utf-8", "surrogatepass")  # a traceback may quote what is not valid text
    return _checksum(data) + data + b"\n"


def decode(raw: bytes) -> Record | None:
    """The record of a line; None when the line is damaged."""
    if not fits(raw):
        return None
    try:
        record = Record.from_json(json.loads(raw[17:-1].decode("utf-8", "surrogatepass")))
    except (ValueError, TypeError, AttributeError):
        return None
    return record if _is_key(record.key) else None


def fits(raw: bytes) -> bool:
    """Does a line match its checksum?"""
    return raw.startswith(_checksum(raw[17:-1])) and raw.endswith(b"\n")


def _checksum(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest()[:16].encode() + b" "


def _is_key(key: object) -> bool:
    return isinstance(key, str) and key != "" and key.isascii() and key.isprintable()


def lines(path: Path, offset: int = 0) -> Iterator[Line]:
    """The complete lines from ``offset``, which is the start of a line."""
    with path.open("rb") as file:
        file.seek(offset)
        for raw in file:
            if not raw.endswith(b"\n"):
                return
            yield Line(offset, raw, decode(raw))
            offset += len(raw)


def read(path: Path, offset: int = 0) -> Reading:
    """What a log holds from ``offset``; pass on the offset returned to read only what is new."""
    found = list(lines(path, offset))
    records = [line.record for line in found if line.record is not None]
    return Reading(records, found[-1].end if found else offset, len(found) - len(records))


def problems(path: Path) -> list[str]:
    """Each damaged line of a log as a sentence."""
    numbered = enumerate(lines(path), start=1)
    return [f"{path} line {n} is damaged: its checksum does not fit" for n, line in numbered if line.record is None]


def logs(folder: Path) -> dict[str, Path]:
    """The logs in a folder by run id, in order."""
    return {path.stem: path for path in sorted(folder.glob("*.jsonl"))}
