"""A run's log: one checksummed line per record, appended and never changed.

A line is 16 hexadecimal characters of the sha256 of a JSON text, a space, the text, a newline. A process killed in
the middle of a line leaves a torn last line: it has no newline and does not count. A complete line that does not
match its checksum is damaged: readers skip and count it, ``problems`` names it.
"""

from __future__ import annotations

import hashlib
import json
import os
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from assay.core.errors import StoreError
from assay.core.records import Record, canonical
from assay.store.faults import fault
from assay.store.files import sync_folder


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
        self._finalize = weakref.finalize(self, os.close, self._handle)
        if sync:
            sync_folder(path.parent)

    def append(self, record: Record) -> tuple[int, Record]:
        """Add a record; when this returns, it is kept. Its offset, and the record as readers will see it."""
        raw = encode(record)
        stored = decode(raw)
        if stored is None:
            raise StoreError(f"{record.kind} {record.key!r}: a key is one or more printable ASCII characters")
        return self._write(raw), stored

    def close(self) -> None:
        """Let go of the file."""
        self._finalize()
        self._handle = -1  # the number may soon be another file's

    def _write(self, raw: bytes) -> int:
        at = self.size
        fault("record.partial", lambda: os.write(self._handle, raw[: len(raw) // 2]))
        if os.write(self._handle, raw) != len(raw):
            os.ftruncate(self._handle, at)  # or the next line would be glued to this torn one
            raise StoreError(f"{self.path} cannot grow: is the disk full?")
        self.size += len(raw)
        if self.sync:
            os.fsync(self._handle)
        return at


def encode(record: Record) -> bytes:
    """The line of a record."""
    try:
        text = canonical(record.to_json())
    except (TypeError, ValueError) as error:
        raise StoreError(f"{record.kind} {record.key} is not plain data without NaN or infinity: {error}") from error
    data = text.encode("utf-8", "surrogatepass")  # a traceback may quote what is not valid text
    return _checksum(data) + data + b"\n"


def decode(raw: bytes) -> Record | None:
    """The record of a line; None when the line is damaged."""
    checksum, text = raw[:17], raw[17:-1]
    if checksum != _checksum(text) or not raw.endswith(b"\n"):
        return None
    try:
        record = Record.from_json(json.loads(text))  # of bytes, this lets surrogates pass
    except (ValueError, TypeError, AttributeError):
        return None
    return record if _is_key(record.key) else None


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
