"""Trained models are shared across stores: a cache folder holds them by key, as safetensors with a checksum.

The folder is ``$ASSAY_CACHE``, or ``assay`` in the user's cache folder; it can be deleted at any time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress

from safetensors.numpy import load

from assay.artifacts.artifact import Arrays
from assay.data.folder import cache_folder, write
from assay.store.artifacts import encode
from assay.train.checkpoints import Throttle, kept_in


def fetch(key: str, train: Callable[[], Arrays], throttle: Throttle = Throttle()) -> Arrays:
    """The model's weights: from the cache, else trained now and cached. Damage, or a full disk, only costs time.

    A training that was stopped goes on from its last checkpoint.
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
            write(path.with_suffix(".sha256"), hashlib.sha256(raw).hexdigest().encode())
    return weights


def resumable(key: str, throttle: Throttle = Throttle()) -> AbstractContextManager[None]:
    """Trainings inside, for the artifact of this key, go on where a process before was stopped."""
    return kept_in(cache_folder() / "trainings" / key, throttle)
