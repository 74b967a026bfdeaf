"""Copy the content of one store into another.

Logs only grow at the end. So of two logs with the same name, the shorter is the beginning of the longer, and the longer
one contains all records.
"""

from __future__ import annotations

from pathlib import Path

from assay.core.errors import StoreError
from assay.engine.store.arrays import Arrays
from assay.engine.store.files import Step, no_step, read_file, write_atomically
from assay.engine.store.log import logs


def merge_arrays(source: Arrays, target: Arrays, step: Step = no_step) -> list[str]:
    """Copy the arrays that the target lacks; returns a sentence for each that is damaged, which is not copied."""
    problems, digests = [], list(source.digests())
    for number, digest in enumerate(digests):
        step(number, len(digests))
        try:
            if not target.has(digest):
                target.put_bytes(source.get_bytes(digest))
        except StoreError as error:
            problems.append(str(error))
    return problems


def longer_logs(source: Path, target: Path) -> dict[Path, bytes]:
    """New contents of the target's logs, by path, so that it has all of the source's. Writes nothing."""
    return {
        target / path.name: data
        for path in logs(source).values()
        if (data := _longer_content(path, target / path.name)) is not None
    }


def _longer_content(source: Path, target: Path) -> bytes | None:
    source_log = read_file(source)
    target_log = read_file(target) if target.exists() else b""
    if not (source_log.startswith(target_log) or target_log.startswith(source_log)):
        raise StoreError(
            f"{source} and {target} are the log of the same run but differ: one is damaged. "
            "Verify both stores, delete the damaged log, merge again"
        )
    return source_log if len(source_log) > len(target_log) or not target.exists() else None


def merge_logs(changes: dict[Path, bytes], *, sync: bool) -> None:
    """Write the logs that ``longer_logs`` returned."""
    for path, data in changes.items():
        write_atomically(path, data, sync=sync)
