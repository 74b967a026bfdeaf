"""A training that several environments have in common: its weights are kept beside the cache of trained models."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import torch
from safetensors import SafetensorError
from torch import Tensor

from assay.catalogue.sources import source_digest
from assay.data.folder import cache_folder, write
from assay.train.serialise import decode, digest, encode

Weights = dict[str, Tensor]


def trained_once(file: str, facts: object, train: Callable[[], Weights]) -> Weights:
    """The weights that ``train`` returns: from the cache folder, else trained now and kept there.

    ``facts`` are all that they depend on besides the code: rows, seed, hyper-parameters; the code is ``file`` with what
    it imports. Processes that need the same weights at the same time each train them, to the same result. A damaged
    file or a full disk costs time and changes no result.
    """
    name = digest([torch.__version__, source_digest(Path(file)), facts])
    folder = cache_folder() / "models"
    for path in folder.glob(f"{name}.*.safetensors"):
        with suppress(OSError, SafetensorError):
            raw = path.read_bytes()
            if path.name == _name(name, raw):
                weights: Weights = decode(raw)
                return weights
    weights = train()
    with suppress(OSError):
        raw = encode(weights)
        write(folder / _name(name, raw), raw)
    return weights


def _name(name: str, raw: bytes) -> str:
    return f"{name}.{hashlib.sha256(raw).hexdigest()}.safetensors"
