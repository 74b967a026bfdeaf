"""Errors of a store whose records do not fit together: another version, or somebody else, wrote them."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.core.errors import AssayError, StoreError


@contextmanager
def bad_records_explained(root: Path) -> Iterator[None]:
    """Inside, errors of any kind, which bad records cause, become one sentence about the store."""
    try:
        yield
    except (AssayError, OSError, MemoryError):
        raise
    except Exception as error:
        *_, innermost = traceback.extract_tb(error.__traceback__)
        where = f"{Path(innermost.filename).name}, line {innermost.lineno}"
        raise StoreError(
            f"the records in {root} do not fit together ({type(error).__name__}: {error}; {where}): they were changed, "
            "or written by another version. Run the study into a new store."
        ) from error
