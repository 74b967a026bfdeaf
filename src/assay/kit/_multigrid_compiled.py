"""How kernels are compiled: once per machine where a folder for compiled code can be written, else once per process.

Numba looks at the file of a compiled function alone when it asks whether the function has changed. Kernels call kernels
of other files, so every function that Python calls takes ``SOURCES`` as its last argument and nobody passes it: a
default is part of the signature under which compiled code is kept, and this one changes with any of the files.
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
Places = NDArray[np.uint64]
FAST = {"reassoc", "contract", "arcp", "nsz"}
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": FAST}


def sources() -> str:
    """A digest of the kernels' files."""
    files = sorted(Path(__file__).parent.glob("_multigrid_*.py"))
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


SOURCES = sources()


def inner(work: F) -> F:
    """Called by kernels."""
    return cast(F, njit(**OPTIONS)(work))


def ordered(work: F) -> F:
    """As ``inner``; takes numbers to be numbers, as the largest of many is found quickly only then."""
    return cast(F, njit(**{**OPTIONS, "fastmath": {*FAST, "nnan"}})(work))


def entry(work: F) -> F:
    """Called by Python, with ``sources=SOURCES`` as its last argument."""
    try:
        return cast(F, njit(cache=True, **OPTIONS)(work))
    except RuntimeError:  # there is nowhere to keep it
        return inner(work)
