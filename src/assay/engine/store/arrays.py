"""Arrays in files that are named by the digest of their content.

Equal arrays have equal bytes and thus one digest. A file is written once and never changed, and its digest reveals
damage. Any process may write; two that write the same arrays write the same file.

Files are not forced to disk. A file that a power cut damaged does not match its digest and counts as missing. The first
reader of a damaged file renames it, so that it is missing for all processes and is computed again.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as decode
from safetensors.numpy import save as serialize

from assay.core.errors import StoreError
from assay.engine.store.fault_points import fault_point
from assay.engine.store.files import open_file, read_file, remove_waste, set_aside, write_atomically

Array = NDArray[Any]

_DIGEST = re.compile(r"[0-9a-f]{64}")
SUFFIX = ".safetensors"
_DTYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64"
_KNOWN_DTYPES = frozenset(_DTYPES.split())
_MANY = 1000  # from this number on, listing 256 folders is cheaper than looking up each file


class Arrays:
    """The arrays in a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def put(self, arrays: Mapping[str, Array]) -> str:
        """Store named arrays; returns their digest. An intact file stays, a damaged one is replaced."""
        return self.put_bytes(encode(arrays))

    def put_bytes(self, data: bytes) -> str:
        """Store arrays that are already encoded; returns their digest."""
        digest = hashlib.sha256(data).hexdigest()
        if not self.verify(digest):
            write_atomically(self.path(digest), data, sync=False, point="array.partial")
            fault_point("array.written")
        return digest

    def get(self, digest: str) -> dict[str, Array]:
        """The arrays of a digest, writable. The content is hashed: damage is an error, never a wrong number."""
        arrays = decode(self.get_bytes(digest))
        # not all versions of safetensors return writable arrays, and torch warns about those that are not
        return {name: np.require(array, requirements="W") for name, array in arrays.items()}

    def get_bytes(self, digest: str) -> bytes:
        """The encoded arrays of a digest. The content is hashed; a damaged file is renamed (``set_aside``)."""
        path = self.path(digest)
        try:
            data = read_file(path)
        except FileNotFoundError:
            raise StoreError(self._missing(digest)) from None
        if hashlib.sha256(data).hexdigest() != digest:
            set_aside(path)
            raise StoreError(self._damaged(digest))
        return data

    def has(self, digest: str) -> bool:
        """Whether there is a file for this digest. (``verify`` also reads it.)"""
        return _DIGEST.fullmatch(digest) is not None and self.path(digest).is_file()

    def present(self, digests: Collection[str]) -> set[str]:
        """Those of the digests that have a file."""
        valid = {digest for digest in digests if _DIGEST.fullmatch(digest)}
        if len(valid) < _MANY:
            return {digest for digest in valid if self.has(digest)}
        return valid.intersection(self._digests_in({digest[:2] for digest in valid}))

    def _digests_in(self, folders: set[str]) -> Iterator[str]:
        for folder in folders:
            try:
                names = os.listdir(self.root / folder)
            except (FileNotFoundError, NotADirectoryError):
                continue
            yield from (name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX))

    def verify(self, digest: str) -> bool:
        """Whether the file exists and its content matches the digest."""
        try:
            with open_file(self.path(digest)) as file:
                return hashlib.file_digest(file, "sha256").hexdigest() == digest
        except FileNotFoundError:
            return False

    def problem(self, digest: str) -> str:
        """What is wrong with the file of a digest, as a sentence; empty where it is intact. Reads and changes nothing
        else."""
        try:
            if self.verify(digest):
                return ""
        except StoreError as error:
            return str(error)
        return self._damaged(digest) if self.has(digest) else self._missing(digest)

    def _missing(self, digest: str) -> str:
        path = self.path(digest)
        return f"array {digest[:12]} is missing: {path} does not exist; run the study again to compute it"

    def _damaged(self, digest: str) -> str:
        path = self.path(digest)
        return f"array {digest[:12]} is damaged: the content of {path} changed; run the study again to compute it"

    def path(self, digest: str) -> Path:
        """The path of the file for a digest, whether it exists or not."""
        if not _DIGEST.fullmatch(digest):
            raise StoreError(f"{digest!r} is not a digest of arrays: 64 characters out of 0-9 and a-f are expected")
        return Path(f"{self.root}/{digest[:2]}/{digest}{SUFFIX}")  # a third of the time of ``/``

    def digests(self) -> Iterator[str]:
        """All digests that have a file, sorted."""
        return iter(sorted(path.name.removesuffix(SUFFIX) for path in self.root.glob(f"??/*{SUFFIX}")))

    def remove_waste(self, older: float = 3600.0) -> int:
        """Remove partial and damaged files older than ``older`` seconds; returns their number. A running process may
        still write younger ones."""
        return remove_waste(self.root.glob("??/*"), older)


def encode(arrays: Mapping[str, Array]) -> bytes:
    """Named arrays as bytes, the same for any order in the mapping and any memory layout."""
    try:
        return serialize({name: portable(name, arrays[name]) for name in sorted(arrays)})
    except (SafetensorError, UnicodeEncodeError, TypeError) as error:
        raise StoreError(f"arrays named {list(arrays)} cannot be stored: {error}") from error


def portable(name: str, array: Array) -> Array:
    """The array in C order and little endian. Safetensors copies raw memory and would scramble a transposed view."""
    if name == "__metadata__":
        raise StoreError("an array cannot be named '__metadata__': safetensors keeps that name for itself")
    if array.dtype.name not in _KNOWN_DTYPES:
        raise StoreError(f"array {name!r} has type {array.dtype}, which cannot be stored; these can: {_DTYPES}")
    return np.require(array, dtype=array.dtype.newbyteorder("<"), requirements="C")
