"""Reads a user's .npy and .npz files: plain arrays only, and no more memory than files of their size should need."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from zipfile import ZipFile, ZipInfo, is_zipfile

import numpy as np
from numpy.lib.format import MAGIC_PREFIX
from numpy.typing import NDArray

from assay.core.errors import SpecError
from assay.foreign.inputs import one_line

LARGE = 2**30  # bytes of an array
EXPANSION = 100  # at most, where a large array is compressed


def read_arrays(path: str, wanted: Collection[str], single: str) -> tuple[dict[str, NDArray[Any]], list[str]]:
    """The wanted arrays of an .npz file, and the names of all; an .npy file has one, named ``single``."""
    try:
        if not is_zipfile(path):
            _check_magic(path)
            # The mapping is refused where the header claims more than the file has; reading would allocate it first.
            return {single: np.array(np.load(path, mmap_mode="r", allow_pickle=False))}, [single]
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            names = list(archive.files)
            return {name: _member(archive, name) for name in wanted if name in names}, names
    except Exception as error:  # three libraries, each with its own errors
        raise SpecError(f"cannot read '{path}' as .npz or .npy of plain arrays: {one_line(error)}.") from None


def read_all(path: str) -> dict[str, NDArray[Any]]:
    """All arrays of an .npz file."""
    names = read_arrays(path, (), single="")[1]
    return read_arrays(path, names, single="")[0]


def _check_magic(path: str) -> None:
    """numpy would take any other file for a pickle, and advise to load it as one."""
    with open(path, "rb") as file:
        if file.read(len(MAGIC_PREFIX)) != MAGIC_PREFIX:
            raise ValueError("it is neither of them; numpy.savez writes such a file")


def check_archive(path: str) -> None:
    """ValueError if a part of a zip file is large and expands too much; other files are left alone."""
    if is_zipfile(path):
        with ZipFile(path) as archive:
            for entry in archive.infolist():
                _check_expansion(entry)


def _check_expansion(entry: ZipInfo) -> None:
    if entry.file_size > LARGE and entry.file_size > EXPANSION * entry.compress_size:
        times = entry.file_size // max(1, entry.compress_size)
        name = entry.filename.removesuffix(".npy")
        raise ValueError(
            f"'{name}' expands {times}-fold to {entry.file_size:,} bytes: if it must, save it uncompressed"
        )


def _member(archive: Any, name: str) -> NDArray[Any]:
    entry = next(entry for entry in archive.zip.infolist() if entry.filename.removesuffix(".npy") == name)
    _check_expansion(entry)
    array = archive[name]
    if not isinstance(array, np.ndarray):
        raise ValueError(f"'{name}' is no array")
    return array
