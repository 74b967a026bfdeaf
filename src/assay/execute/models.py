"""Trained models are shared across stores: a cache folder holds them by key, as safetensors.

The folder is ``$ASSAY_CACHE``, or ``assay`` in the user's cache folder; it can be deleted at any time.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from assay.execute.outcome import Arrays


def cache_folder() -> Path:
    given = os.environ.get("ASSAY_CACHE")
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "assay"


def fetch(key: str, train: Callable[[], Arrays]) -> Arrays:
    """The model's weights: from the cache, else trained now and cached."""
    path = cache_folder() / "models" / f"{key}.safetensors"
    if path.is_file():
        try:
            return load_file(path)  # type: ignore[no-any-return]
        except SafetensorError:
            path.unlink(missing_ok=True)  # damaged: train again
    weights = train()
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    save_file(dict(weights), temporary)
    temporary.replace(path)
    return weights
