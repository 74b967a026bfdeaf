"""Damage in a store: log lines that do not match their checksum, arrays that are missing or do not match their digest,
and an index that disagrees with the logs.

No damage makes a number wrong: a damaged line is skipped, a record without its arrays is no answer, and a damaged index
is built again. Whatever is lost is computed by the next run that needs it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from assay.core.records import canonical
from assay.store.arrays import Arrays
from assay.store.files import Step, no_step, read_json, set_aside, write_atomically
from assay.store.index import delete_index
from assay.store.index_rows import check, is_current, make_tables, refresh, row_checksum, text
from assay.store.log import logs, problems

INDEX = "index.sqlite"
KNOWN = "damaged.json"  # lists damaged lines that were seen by ``repair``
_COLUMNS = "key, kind, status, arrays, log, at, line, checksum"


@dataclass(frozen=True)
class Damage:
    """One damaged line, array or row of the index."""

    what: Literal["line", "array", "index"]
    sentence: str
    kind: str = ""  # of the artifact whose array it is
    key: str = ""
    log: str = ""
    start: int = 0  # of a line, in its log
    array: str = ""  # digest


def find_damage(root: Path, step: Step = no_step) -> list[Damage]:
    """All damage, except for lines that ``repair`` has seen. Reads every byte and changes nothing."""
    with closing(sqlite3.connect("", isolation_level=None)) as fresh:  # a temporary file
        make_tables(fresh)
        refresh(fresh, root / "logs")
        return [*_damaged_lines(root), *_damaged_index(root / INDEX, fresh), *_damaged_arrays(root, fresh, step)]


def repair(root: Path, damage: Iterable[Damage]) -> None:
    """Set damaged arrays aside, delete a damaged index, and remember damaged lines. What is good stays as it is."""
    arrays, lines = Arrays(root / "arrays"), known_lines(root)
    for item in damage:
        if item.what == "line":
            lines.setdefault(item.log, []).append(item.start)
        elif item.what == "array" and arrays.has(item.array):
            set_aside(arrays.path(item.array))
        elif item.what == "index":
            delete_index(root / INDEX)
    if lines != known_lines(root):
        write_atomically(root / KNOWN, canonical(lines).encode())


def known_lines(root: Path) -> dict[str, list[int]]:
    """Where damaged lines start that ``repair`` has seen, by log. They stay in their logs and are skipped."""
    try:
        known = read_json(root / KNOWN)
        return {str(log): [int(start) for start in starts] for log, starts in known.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _damaged_lines(root: Path) -> Iterator[Damage]:
    known = known_lines(root)
    for log, path in logs(root / "logs").items():
        for start, sentence in problems(path).items():
            if start not in known.get(log, []):
                yield Damage("line", sentence, log=log, start=start)


def _damaged_arrays(root: Path, fresh: sqlite3.Connection, step: Step) -> Iterator[Damage]:
    arrays = Arrays(root / "arrays")
    rows = fresh.execute("SELECT kind, key, arrays FROM records WHERE arrays != '' ORDER BY kind, key").fetchall()
    problem_by_array: dict[str, str] = {}
    for number, (kind, key, digest) in enumerate(rows):
        step(number, len(rows))
        if digest not in problem_by_array:
            problem_by_array[digest] = arrays.problem(digest)
        if problem := problem_by_array[digest]:
            yield Damage("array", f"{kind} {key}: {problem}", kind, key, array=digest)


def _damaged_index(path: Path, fresh: sqlite3.Connection) -> list[Damage]:
    if not path.is_file():
        return []
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.text_factory = text
            if not is_current(db):
                return []
            check(db)
            return list(_damaged_rows(path, db, fresh))
    except sqlite3.DatabaseError as error:
        return [Damage("index", f"{path} is damaged: {error}")]


def _damaged_rows(path: Path, db: sqlite3.Connection, fresh: sqlite3.Connection) -> Iterator[Damage]:
    """Rows that do not match their checksum; in an index that has read as much of the logs as the fresh one, also rows
    that it has not."""
    offsets = [sorted(each.execute("SELECT log, offset FROM logs")) for each in (db, fresh)]
    is_complete = offsets[0] == offsets[1]
    for *columns, line, checksum in db.execute(f"SELECT {_COLUMNS} FROM records"):
        key, kind, *_ = columns
        expected = fresh.execute("SELECT checksum FROM records WHERE key = ?", [key]).fetchone()
        if row_checksum(columns, line) != checksum or (is_complete and expected != (checksum,)):
            yield Damage("index", f"{path}: the row of {kind} {key} disagrees with the logs")
