"""Damage in a store: log lines that do not match their checksum, arrays that are missing or do not match their digest.

No damage makes a number wrong: a damaged line is skipped, and a record without its arrays is no answer. Whatever is
lost is computed by the next run that needs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from assay.core.records import canonical
from assay.engine.store.arrays import Arrays
from assay.engine.store.entries import Entries
from assay.engine.store.files import Step, no_step, read_json, set_aside, write_atomically
from assay.engine.store.log import logs, problems

KNOWN = "damaged.json"  # lists damaged lines that were seen by ``repair``


@dataclass(frozen=True)
class Damage:
    """One damaged line or array."""

    what: Literal["line", "array"]
    sentence: str
    kind: str = ""  # of the artifact whose array it is
    key: str = ""
    log: str = ""
    start: int = 0  # of a line, in its log
    array: str = ""  # digest


def find_damage(root: Path, step: Step = no_step) -> list[Damage]:
    """All damage, except for lines that ``repair`` has seen. Reads every byte and changes nothing."""
    return [*_damaged_lines(root), *_damaged_arrays(root, step)]


def repair(root: Path, damage: Iterable[Damage]) -> None:
    """Set damaged arrays aside and remember damaged lines. What is good stays as it is."""
    arrays, lines = Arrays(root / "arrays"), known_lines(root)
    for item in damage:
        if item.what == "line":
            lines.setdefault(item.log, []).append(item.start)
        elif arrays.has(item.array):
            set_aside(arrays.path(item.array))
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


def _damaged_arrays(root: Path, step: Step) -> Iterator[Damage]:
    arrays = Arrays(root / "arrays")
    heads = [entry.head for entry in Entries(root / "logs").of_kind(None) if entry.head.arrays]
    problem_by_array: dict[str, str] = {}
    for number, (key, kind, _, digest) in enumerate(heads):
        step(number, len(heads))
        if digest not in problem_by_array:
            problem_by_array[digest] = arrays.problem(digest)
        if problem := problem_by_array[digest]:
            yield Damage("array", f"{kind} {key}: {problem}", kind, key, array=digest)
