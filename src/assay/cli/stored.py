"""Reading stores that somebody else wrote."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.core.errors import AssayError, StoreError


@contextmanager
def records_of(root: Path) -> Iterator[None]:
    """Records that do not fit together cause errors of many kinds: here each becomes a sentence about the store."""
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
