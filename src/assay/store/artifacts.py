"""Arrays under the digest of their content.

Equal arrays have equal bytes, so a digest names them for good: a file is written once, never changed, and whoever
holds the digest can tell damage from truth. Any process may write; two that write the same arrays write the same file.

Files are not forced to disk: what a power cut tears does not fit its digest, and so counts as missing. Whoever reads a
file that does not fit sets it aside, so that it is missing for everybody, and is computed again.
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
from assay.store.faults import fault
from assay.store.files import place, set_aside, sweep

Array = NDArray[Any]

_DIGEST = re.compile(r"[0-9a-f]{64}")
_SUFFIX = ".safetensors"
_DTYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64"
_KNOWN_DTYPES = frozenset(_DTYPES.split())
_MANY = 1000  # from here on, listing 256 folders is cheaper than asking for each file


class Arrays:
    """The arrays in a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def put(self, arrays: Mapping[str, Array]) -> str:
        """Keep named arrays; their digest. A sound file that is already there is left alone, a damaged one replaced."""
        return self.put_bytes(encode(arrays))

    def put_bytes(self, data: bytes) -> str:
        """Keep arrays that are already encoded."""
        digest = hashlib.sha256(data).hexdigest()
        if not self.verify(digest):
            place(self.path(digest), data, sync=False, point="array.partial")
            fault("array.written")
        return digest

    def get(self, digest: str) -> dict[str, Array]:
        """The arrays of a digest, writable; hashed on the way, so that damage is an error and never a number."""
        arrays = decode(self.get_bytes(digest))
        # not all versions of safetensors return writable arrays, and torch warns about those that are not
        return {name: np.require(array, requirements="W") for name, array in arrays.items()}

    def get_bytes(self, digest: str) -> bytes:
        """The encoded arrays of a digest, hashed; a file that does not fit is set aside."""
        path = self.path(digest)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            raise StoreError(
                f"array {digest[:12]} is missing: {path} does not exist; run the study again to compute it"
            ) from None
        if hashlib.sha256(data).hexdigest() != digest:
            set_aside(path)
            raise StoreError(
                f"array {digest[:12]} is damaged: the content of {path} changed; run the study again to compute it"
            )
        return data

    def has(self, digest: str) -> bool:
        """Is there a file for this digest? (``verify`` also reads it.)"""
        return _DIGEST.fullmatch(digest) is not None and self.path(digest).is_file()

    def present(self, digests: Collection[str]) -> set[str]:
        """Those of the digests that have a file."""
        wanted = {digest for digest in digests if _DIGEST.fullmatch(digest)}
        if len(wanted) < _MANY:
            return {digest for digest in wanted if self.has(digest)}
        return wanted.intersection(self._listed({digest[:2] for digest in wanted}))

    def _listed(self, folders: set[str]) -> Iterator[str]:
        for folder in folders:
            try:
                names = os.listdir(self.root / folder)
            except (FileNotFoundError, NotADirectoryError):
                continue
            yield from (name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX))

    def verify(self, digest: str) -> bool:
        """Is the file there, with the content that its name promises?"""
        try:
            with self.path(digest).open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest() == digest
        except FileNotFoundError:
            return False

    def path(self, digest: str) -> Path:
        """Where the arrays of a digest are, or would be."""
        if not _DIGEST.fullmatch(digest):
            raise StoreError(f"{digest!r} is not a digest of arrays: 64 characters out of 0-9 and a-f are expected")
        return self.root / digest[:2] / f"{digest}{_SUFFIX}"

    def digests(self) -> Iterator[str]:
        """All digests that have a file, sorted."""
        return iter(sorted(path.name.removesuffix(_SUFFIX) for path in self.root.glob(f"??/*{_SUFFIX}")))

    def sweep(self, older: float = 3600.0) -> int:
        """Remove what killed writers left and what was damaged; how many files. Younger ones may be a live writer's."""
        return sweep(self.root.glob("??/*"), older)


def encode(arrays: Mapping[str, Array]) -> bytes:
    """The one byte string of named arrays, whatever their order in the mapping and in memory."""
    try:
        return serialize({name: plain(name, arrays[name]) for name in sorted(arrays)})
    except (SafetensorError, UnicodeEncodeError, TypeError) as error:
        raise StoreError(f"arrays named {list(arrays)} cannot be stored: {error}") from error


def plain(name: str, array: Array) -> Array:
    """C order and little endian: safetensors copies memory as it lies and would mix up a transposed view."""
    if name == "__metadata__":
        raise StoreError("an array cannot be named '__metadata__': safetensors keeps that name for itself")
    if array.dtype.name not in _KNOWN_DTYPES:
        raise StoreError(f"array {name!r} has type {array.dtype}, which cannot be stored; these can: {_DTYPES}")
    return np.require(array, dtype=array.dtype.newbyteorder("<"), requirements="C")
