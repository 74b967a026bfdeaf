"""Is this folder a store, and one that we can read?"""

from __future__ import annotations

import json
from pathlib import Path

from assay.core.errors import StoreError
from assay.core.records import canonical
from assay.store.files import is_partial, place

FORMAT = 1
NAME = "store.json"


def is_store(root: Path) -> bool:
    """True for a store, False for an empty or missing folder; an error for anything else."""
    if root.exists() and not root.is_dir():
        raise StoreError(f"{root} is a file; a store is a folder")
    names = {path.name for path in root.glob("*") if not is_partial(path)}  # partial: of a killed ``make_store``
    if names and NAME not in names:
        raise StoreError(f"{root} is not a store: it holds other files and no {NAME}; use an empty folder")
    if names:
        _check(root)
    return bool(names)


def make_store(root: Path, *, sync: bool = True) -> None:
    """Turn an empty or missing folder into a store."""
    place(root / NAME, canonical({"format": FORMAT}).encode() + b"\n", sync=sync)


def _check(root: Path) -> None:
    found = _read(root / NAME)
    if found is None:
        raise StoreError(f"{root / NAME} does not describe a store: {canonical({'format': FORMAT})} is expected")
    if found > FORMAT:
        raise StoreError(f"{root} has store format {found}, but this assay reads only up to {FORMAT}: upgrade assay")


def _read(path: Path) -> int | None:
    try:
        found = json.loads(path.read_bytes())["format"]
    except (ValueError, TypeError, KeyError):
        return None
    return found if type(found) is int and found >= 1 else None
