"""Put the content of one store into another.

Logs only ever grow at the end, so of two logs with one name the shorter is the beginning of the longer, and the
longer one has it all.
"""

from __future__ import annotations

from pathlib import Path

from assay.core.errors import StoreError
from assay.store.artifacts import Arrays
from assay.store.files import place
from assay.store.log import logs


def merge_arrays(source: Arrays, target: Arrays) -> list[str]:
    """Copy arrays that are missing; a sentence for each that is damaged in the source and so was not copied."""
    problems = []
    for digest in source.digests():
        try:
            if not target.has(digest):
                target.put_bytes(source.get_bytes(digest))
        except StoreError as error:
            problems.append(str(error))
    return problems


def longer_logs(source: Path, target: Path) -> dict[Path, bytes]:
    """What to write where so that the target has all of the source's logs. Writes nothing."""
    return {
        target / path.name: data
        for path in logs(source).values()
        if (data := _gain(path, target / path.name)) is not None
    }


def _gain(source: Path, target: Path) -> bytes | None:
    theirs = source.read_bytes()
    ours = target.read_bytes() if target.exists() else b""
    if not (theirs.startswith(ours) or ours.startswith(theirs)):
        raise StoreError(
            f"{source} and {target} are the log of the same run but differ: one is damaged. "
            "Verify both stores, delete the damaged log, merge again"
        )
    return theirs if len(theirs) > len(ours) or not target.exists() else None


def merge_logs(changes: dict[Path, bytes], *, sync: bool) -> None:
    """Write what ``longer_logs`` found."""
    for path, data in changes.items():
        place(path, data, sync=sync)
