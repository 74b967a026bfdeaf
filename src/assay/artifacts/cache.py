"""Trained models are shared across stores: a cache folder holds them by key, as safetensors with a checksum.

The folder is ``$ASSAY_CACHE``, or ``assay`` in the user's cache folder; it can be deleted at any time.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from safetensors.numpy import load

from assay.artifacts.artifact import Arrays
from assay.data.folder import cache_folder
from assay.store.artifacts import encode


def fetch(key: str, train: Callable[[], Arrays]) -> Arrays:
    """The model's weights: from the cache, else trained now and cached. Damage, or a full disk, only costs time."""
    path = cache_folder() / "models" / f"{key}.safetensors"
    with suppress(OSError):
        raw = path.read_bytes()
        if path.with_suffix(".sha256").read_bytes() == hashlib.sha256(raw).hexdigest().encode():
            return load(raw)  # type: ignore[no-any-return]
    weights = train()
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        raw = encode(weights)
        _write(path, raw)
        _write(path.with_suffix(".sha256"), hashlib.sha256(raw).hexdigest().encode())
    return weights


def _write(path: Path, raw: bytes) -> None:
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    temporary.write_bytes(raw)
    temporary.replace(path)
