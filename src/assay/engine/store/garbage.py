"""What a store no longer needs: arrays that no record names, files of killed writers, damaged arrays, and the index of
earlier versions."""

from __future__ import annotations

from pathlib import Path

from assay.core.errors import StoreError
from assay.engine.store.arrays import SUFFIX
from assay.engine.store.files import Step, is_waste, no_step
from assay.engine.store.lease import SILENCE, running
from assay.engine.store.store import Store


def find_garbage(store: Store, patience: float = SILENCE, step: Step = no_step) -> dict[Path, int]:
    """Files that can be removed, with their bytes. StoreError while a run writes into the store: what it has saved may
    not be named yet.

    Files are listed before records are read: an array of a run that begins meanwhile is not in the list. Of two answers
    to a key, the arrays of the one that counts are kept.
    """
    if found := running(store.root, patience, step):
        raise StoreError(f"a run ({found[0].name}) is writing into {store.root}: collect garbage when it has ended")
    files = [path for path in store.arrays.root.glob("??/*") if path.is_file()]
    folders = (store.root, store.root / "logs", store.root / "running")
    files += [path for folder in folders for path in folder.glob("*") if is_waste(path) and path.is_file()]
    files += store.root.glob("index.sqlite*")
    store.refresh()
    named = {f"{digest}{SUFFIX}" for digest in store.array_digests()}
    return {path: path.stat().st_size for path in files if path.name not in named}


def remove(files: dict[Path, int], step: Step = no_step) -> None:
    for number, path in enumerate(files):
        step(number, len(files))
        path.unlink(missing_ok=True)
