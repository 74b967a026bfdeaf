"""A run's log: one checksummed line per record, appended and never changed.

A line is 16 hexadecimal characters of the sha256 of a JSON text, a space, the text, a newline. A process that is killed
while it writes leaves an incomplete last line, which has no newline and is ignored. A complete line that does not match
its checksum is damaged: readers skip and count it, and ``problems`` lists it.

A killed process loses no line that was appended. The file is forced to disk at most once a second and when it is
closed. So a power cut loses the lines of less than a second before the last one. A line that it damages is no record.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, cast, get_args

from assay.core.errors import StoreError
from assay.core.records import Record, Status, canonical
from assay.engine.store.fault_points import fault_point
from assay.engine.store.files import open_file, sync_folder

_SYNC_EVERY = 1.0  # seconds; forcing each line to disk would take longer than computing many blocks


_TEXT = rb"[ !#-\[\]-~]"  # printable ASCII that JSON does not escape
_ARRAYS = re.compile(rb'.{17}\{"arrays":"(%b*)","cost":\{' % _TEXT, re.DOTALL)
_KEY = re.compile(rb'"key":"(%b+)","kind":"(%b+)","origin":\{' % (_TEXT, _TEXT))
_STATUS = re.compile(rb'"status":"(%b)","traceback":"' % "|".join(get_args(Status)).encode())


class Head(NamedTuple):
    """What a planner needs to know of a record."""

    key: str
    kind: str
    status: Status
    arrays: str


class Line(NamedTuple):
    """A complete line of a log."""

    start: int
    raw: bytes

    @property
    def end(self) -> int:
        return self.start + len(self.raw)

    @property
    def record(self) -> Record | None:
        """None when the line is damaged."""
        return decode(self.raw)

    @property
    def head(self) -> Head | None:
        """None when the line is damaged. Four times as fast as ``record``: the JSON text is not parsed."""
        if not matches_checksum(self.raw):
            return None
        # Names are sorted, and quotes in texts are escaped. So the last "status" is that of the record, and the only
        # "kind" after another text. A line that looks otherwise is parsed.
        kind_at = self.raw.rfind(b'","kind":"')
        arrays = _ARRAYS.match(self.raw)
        key = _KEY.match(self.raw, self.raw.rfind(b'"key":"', 0, kind_at))
        status = _STATUS.match(self.raw, self.raw.rfind(b'"status":"'))
        if arrays and key and status and self.raw.find(b'","kind":"') == kind_at:
            kind, how = sys.intern(key[2].decode()), cast(Status, sys.intern(status[1].decode()))
            return Head(key[1].decode(), kind, how, arrays[1].decode())
        record = self.record
        return None if record is None else Head(record.key, record.kind, record.status, record.arrays)


class Reading(NamedTuple):
    """The undamaged records of a log, the offset after its last complete line, and the count of damaged lines."""

    records: list[Record]
    offset: int
    damaged: int


class Log:
    """The only writer of a new log. Two runs never share a log."""

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
        """Add a record; returns its offset and its line. From then on, no crash of the process loses it."""
        raw = encode(record)
        return self._write(raw), raw

    def close(self) -> None:
        """Force the last lines to disk and close the file."""
        self._finalize()
        self._handle = -1  # the system may reuse the number for another file

    def _write(self, raw: bytes) -> int:
        start = self.size
        fault_point("record.partial", lambda: os.write(self._handle, raw[: len(raw) // 2]))
        if os.write(self._handle, raw) != len(raw):
            os.ftruncate(self._handle, start)  # or the next line would be joined to this incomplete one
            raise StoreError(f"{self.path} cannot grow: is the disk full?")
        fault_point("record.written")
        self.size += len(raw)
        if self.sync and time.monotonic() - self._synced >= _SYNC_EVERY:
            os.fsync(self._handle)
            self._synced = time.monotonic()
        return start


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
    data = text.encode("utf-8", "surrogatepass")  # a traceback may quote invalid Unicode
    return _checksum(data) + data + b"\n"


def decode(raw: bytes) -> Record | None:
    """The record of a line; None when the line is damaged."""
    if not matches_checksum(raw):
        return None
    try:
        record = Record.from_json(json.loads(raw[17:-1].decode("utf-8", "surrogatepass")))
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None
    return record if _is_sound(record) else None


def matches_checksum(raw: bytes) -> bool:
    """Whether a line matches its checksum."""
    return raw.startswith(_checksum(raw[17:-1])) and raw.endswith(b"\n")


def _checksum(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest()[:16].encode() + b" "


def _is_sound(record: Record) -> bool:
    mappings = (record.data, record.cost, record.origin)
    return (
        _is_key(record.key)
        and _is_key(record.kind)
        and record.status in get_args(Status)
        and (record.arrays == "" or _is_key(record.arrays))
        and isinstance(record.reason, str)
        and isinstance(record.traceback, str)
        and all(isinstance(mapping, dict) for mapping in mappings)
    )


def _is_key(key: object) -> bool:
    return isinstance(key, str) and key != "" and key.isascii() and key.isprintable()


def lines(path: Path, offset: int = 0) -> Iterator[Line]:
    """The complete lines from ``offset``, which is the start of a line."""
    with open_file(path) as file:
        file.seek(offset)
        for raw in file:
            if not raw.endswith(b"\n"):
                return
            yield Line(offset, raw)
            offset += len(raw)


def read(path: Path, offset: int = 0) -> Reading:
    """The content of a log from ``offset``. Pass the returned offset to the next call to read only new lines."""
    new_lines = list(lines(path, offset))
    records = [record for line in new_lines if (record := line.record) is not None]
    return Reading(records, new_lines[-1].end if new_lines else offset, len(new_lines) - len(records))


def problems(path: Path) -> dict[int, str]:
    """A sentence for each damaged line of a log, by the position at which the line starts."""
    return {
        line.start: f"{path} line {number} is damaged: its checksum does not fit"
        for number, line in enumerate(lines(path), start=1)
        if line.record is None
    }


def logs(folder: Path) -> dict[str, Path]:
    """The logs in a folder by run id, in order."""
    return {path.stem: path for path in sorted(folder.glob("*.jsonl"))}
