"""Compiles kernels: once per machine where a folder for compiled code can be written, else once per process.

To detect changes, numba checks only the file of the compiled function, but kernels call kernels in other files. So
every kernel that Python calls has ``SOURCES`` as the default of its last argument, which no caller passes: defaults are
part of the signature under which compiled code is cached, and this one changes with any of the files.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

F = TypeVar("F", bound=Callable[..., Any])
Array = NDArray[Any]
Offsets = NDArray[np.uint64]
FAST = {"reassoc", "contract", "arcp", "nsz"}
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": FAST}


def sources_digest() -> str:
    """A digest of all files with kernels."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


SOURCES = sources_digest()


def kernel(function: F) -> F:
    """Compile a function that only kernels call."""
    return cast(F, njit(**OPTIONS)(function))


def finite_kernel(function: F) -> F:
    """As ``kernel``, for numbers that are never NaN: only then is a maximum compiled to fast code."""
    return cast(F, njit(**{**OPTIONS, "fastmath": {*FAST, "nnan"}})(function))


def cached_kernel(function: F) -> F:
    """Compile and cache a function that Python calls; its last parameter is ``sources=SOURCES``."""
    try:
        return cast(F, njit(cache=True, **OPTIONS)(function))
    except RuntimeError:  # no folder to cache it in
        return kernel(function)
