"""What components print is kept out of the result."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout


@contextmanager
def prints_on_stderr() -> Iterator[None]:
    """Standard output is for the result: what components print goes to standard error, also from C and children."""
    sys.stdout.flush()
    saved = os.dup(1)
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        sys.stdout.flush()
        if os.name == "posix":  # elsewhere the C library has no such name
            ctypes.CDLL(None).fflush(None)  # what C code has printed and kept back
        os.dup2(saved, 1)
        os.close(saved)
