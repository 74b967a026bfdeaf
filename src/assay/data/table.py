"""Tables of a public data set: read from a file, and encoded as numbers, a category as one entry per level."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assay.core.errors import AssayError
from assay.data.folder import find, missing, read

Tidy = Callable[[Any], Any]  # a frame as it was stored -> the whole data set in a fixed form, or AssayError


@dataclass(frozen=True, eq=False)
class Table:
    """Rows as a model reads them, with what is to be predicted."""

    x: NDArray[np.float32]  # (rows, entries), raw units
    label: NDArray[np.int64]  # (rows,)
    entries: tuple[str, ...]  # names: a number's column, or column=level
    columns: tuple[str, ...]
    column_of: tuple[int, ...]  # the column of each entry
    classes: tuple[str, ...]


def encoded(frame: Any, target: str, classes: Sequence[str]) -> Table:
    """Columns in their order; texts become one entry per level, none dropped, levels in alphabetical order."""
    columns = [name for name in frame if name != target]
    parts, entries, column_of = [], [], []
    for number, name in enumerate(columns):
        if pd.api.types.is_numeric_dtype(frame[name]):
            parts.append(frame[[name]].to_numpy())
            entries.append(name)
        else:
            levels = sorted(frame[name].unique())
            parts.append(np.stack([frame[name] == level for level in levels], axis=1))
            entries += [f"{name}={level}" for level in levels]
        column_of += [number] * parts[-1].shape[1]
    x = np.concatenate([part.astype(np.float32) for part in parts], axis=1)
    label = frame[target].map({name: index for index, name in enumerate(classes)}).to_numpy(np.int64)
    return Table(x, label, tuple(entries), tuple(columns), tuple(column_of), tuple(classes))


def stored_frame(name: str, title: str, files: Sequence[str], sha256: str | None, tidy: Tidy) -> Any:
    """The tidy frame of the first of these files in the data folders.

    Its sha256 is in a file beside it, with the ending .sha256; else it must be ``sha256``. None: it is not known.
    """
    path = find(*files)
    if path is None:
        advice = f"Run 'python -m assay.data.fetch {name}', or set ASSAY_DATA to a folder that has it."
        raise missing(title, advice, *files)
    beside = path.with_suffix(".sha256")
    expected = beside.read_text(encoding="ascii").strip() if beside.exists() else sha256
    return tidy(_parsed(path, read(path, *([expected] if expected else []))))


def local_frame(path: str, tidy: Tidy) -> Any:
    """The tidy frame of a CSV or Parquet file anywhere."""
    try:
        return tidy(_parsed(Path(path), Path(path).read_bytes()))
    except OSError as error:
        raise AssayError(
            f"{path} cannot be read: {error.strerror}. Give the path of a .csv or .parquet file."
        ) from None


def _parsed(path: Path, raw: bytes) -> Any:
    """A frame; '?' and empty texts are missing values."""
    try:
        if path.suffix == ".parquet":
            return pd.read_parquet(BytesIO(raw))
        if path.suffix == ".csv":
            return pd.read_csv(BytesIO(raw), na_values=["?"], skipinitialspace=True)
    except Exception as error:  # pandas and pyarrow have errors of their own
        reason = str(error).partition("\n")[0].rstrip(".")
        raise AssayError(f"{path} is no readable {path.suffix} file: {reason}. It may be cut off.") from None
    raise AssayError(f"{path} is neither a .csv nor a .parquet file.")


def check_columns(frame: Any, wanted: Sequence[str], title: str) -> None:
    """AssayError names the columns that are missing."""
    if absent := [name for name in wanted if name not in frame]:
        raise AssayError(
            f"this is not the {title} data set: it has {len(frame)} rows and {frame.shape[1]} columns, and no "
            f"{', '.join(absent)}."
        )


def check_counts(counts: dict[str, int], expected: dict[str, int], title: str) -> None:
    """AssayError says all counts, unless they are those of the whole data set."""
    if counts != expected:
        details = ", ".join(f"{counts[name]} {name} (should be {expected[name]})" for name in expected)
        raise AssayError(f"this is not the whole {title} data set: {details}.")


def as_whole_numbers(frame: Any, names: Sequence[str], title: str) -> Any:
    """The frame with these columns as int64; AssayError names the columns that have other values, or none."""
    numbers = {name: pd.to_numeric(frame[name].astype(object), errors="coerce") for name in names}
    if wrong := [name for name, values in numbers.items() if not bool((values % 1 == 0).all())]:
        raise AssayError(
            f"this is not the {title} data set, or it is cut off: of its {len(frame)} rows, some have no whole number "
            f"in {', '.join(wrong)}."
        )
    return frame.assign(**{name: values.astype("int64") for name, values in numbers.items()})
