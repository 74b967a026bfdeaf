"""A cache of trained models, shared by all stores: a folder of safetensors files by key, each with a checksum.

The folder is ``$ASSAY_CACHE``, or ``assay`` in the user's cache folder; it can be deleted at any time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress

from safetensors.numpy import load

from assay.data.folder import cache_folder, write
from assay.engine.artifacts.artifact import Arrays
from assay.engine.store.arrays import encode
from assay.engine.store.fault_points import fault_point
from assay.train.checkpoints import Throttle, checkpoints_in


def fetch(key: str, train: Callable[[], Arrays], throttle: Throttle = Throttle()) -> Arrays:
    """The model's weights: from the cache, else trained now and cached.

    A damaged file or a full disk costs time and changes no result. A stopped training continues from its last
    checkpoint.
    """
    path = cache_folder() / "models" / f"{key}.safetensors"
    with suppress(OSError):
        raw = path.read_bytes()
        if path.with_suffix(".sha256").read_bytes() == hashlib.sha256(raw).hexdigest().encode():
            return load(raw)  # type: ignore[no-any-return]
    with resumable(key, throttle):
        weights = train()
        with suppress(OSError):
            raw = encode(weights)
            write(path, raw)
            fault_point("cache.partial")
            write(path.with_suffix(".sha256"), hashlib.sha256(raw).hexdigest().encode())
    return weights


def resumable(key: str, throttle: Throttle = Throttle()) -> AbstractContextManager[None]:
    """A context in which trainings for the artifact of this key continue from an earlier process's checkpoint."""
    return checkpoints_in(cache_folder() / "trainings" / key, throttle)
