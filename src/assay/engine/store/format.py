"""Whether a folder is a store, and of a format that this version reads."""

from __future__ import annotations

from pathlib import Path

from assay.core.errors import StoreError
from assay.core.records import canonical
from assay.engine.store.files import is_partial, read_json, write_atomically

FORMAT = 2  # in format 1, some runs list other things than reports read, and none says that it is running
NAME = "store.json"


def is_store(root: Path) -> bool:
    """True for a store, False for an empty or missing folder; StoreError for anything else."""
    if root.exists() and not root.is_dir():
        raise StoreError(f"{root} is a file; a store is a folder")
    # Partial files do not count: a killed ``make_store`` leaves them.
    names = {path.name for path in root.glob("*") if not is_partial(path)}
    if names and NAME not in names:
        raise StoreError(f"{root} is not a store: it holds other files and no {NAME}; use an empty folder")
    if names:
        _check_version(root)
    return bool(names)


def make_store(root: Path, *, sync: bool = True) -> None:
    """Turn an empty or missing folder into a store."""
    write_atomically(root / NAME, canonical({"format": FORMAT}).encode() + b"\n", sync=sync)


def _check_version(root: Path) -> None:
    version = _read_version(root / NAME)
    if version is None:
        raise StoreError(f"{root / NAME} does not describe a store: {canonical({'format': FORMAT})} is expected")
    if version > FORMAT:
        raise StoreError(f"{root} was made by a newer assay (store format {version}, not {FORMAT}): upgrade assay")
    if version < FORMAT:
        raise StoreError(
            f"{root} was made by an older assay (store format {version}, not {FORMAT}): run the study into a new folder"
        )


def _read_version(path: Path) -> int | None:
    try:
        version = read_json(path)["format"]
    except (ValueError, TypeError, KeyError):
        return None
    return version if type(version) is int and version >= 1 else None
