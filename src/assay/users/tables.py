"""Reads tables in other forms than data frames: records, arrays of text and numbers, dicts of columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from torch import Tensor

from assay.core.errors import SpecError
from assay.core.features import Columns
from assay.foreign.inputs import one_line
from assay.users.reading import Reading
from assay.users.rows import Rows


@dataclass(frozen=True)
class Form:
    """A table as a data frame, and how the user gave it."""

    frame: Any
    back: Callable[[Any], Any] | None = None  # from a data frame; None: the user gave one
    named: bool = True  # columns have names


def is_frame(data: Any) -> bool:
    return hasattr(data, "columns") and hasattr(data, "to_numpy")


def as_pandas(data: Any) -> Any:
    """Frames of other packages as those of pandas; anything else unchanged."""
    return data.to_pandas() if hasattr(data, "to_pandas") else data


def table_of(data: Any) -> Form | None:
    """None, where the data are no table, or an array of numbers alone."""
    import pandas as pd

    if is_frame(data):
        return Form(data)
    if isinstance(data, Mapping):
        columns = {name: np.asarray(values) for name, values in data.items() if np.ndim(values) == 1}
        if len(columns) < len(data) or not any(values.dtype.kind in "UO" for values in columns.values()):
            return None
        return Form(pd.DataFrame(columns), lambda frame: {name: frame[name].to_numpy() for name in frame})
    if isinstance(data, list | tuple) and data and isinstance(data[0], Mapping):
        return Form(pd.DataFrame(list(data)), lambda frame: frame.to_dict("records"))
    if isinstance(data, np.ndarray) and data.dtype.names:
        return Form(pd.DataFrame(data), lambda frame: frame.to_records(index=False))
    if _is_mixed(data):
        return Form(pd.DataFrame(list(data)).infer_objects(), lambda frame: frame.to_numpy(dtype=object), named=False)
    return None


def _is_mixed(data: Any) -> bool:
    """Whether these are rows of text and numbers."""
    if isinstance(data, np.ndarray):
        return data.ndim == 2 and data.dtype.kind in "UO"
    is_rows = isinstance(data, list | tuple) and bool(data) and isinstance(data[0], list | tuple)
    return is_rows and any(isinstance(value, str) for row in data for value in row)


def read_table(form: Form, reference: Any | None, reading: Reading) -> Rows:
    """Rows of a table; ``given`` gives them back in the user's form."""
    from assay.users.frames import read_frame

    rows = read_frame(form.frame, None if reference is None else _like(form, reference), reading)
    decode, back = rows.given, form.back
    if back is None or decode is None:
        return rows

    def given(entries: Tensor) -> Any:
        return back(decode(entries))

    features = rows.features if form.named else Columns(rows.features.groups)  # type: ignore[attr-defined]
    return replace(rows, features=features, given=given)


def _like(form: Form, reference: Any) -> Any:
    """The reference as a data frame; an array has the columns of the rows, in their order."""
    import pandas as pd

    other = table_of(as_pandas(reference))
    if other is not None:
        return other.frame
    try:
        return pd.DataFrame(np.asarray(reference), columns=form.frame.columns)
    except Exception as error:
        raise SpecError(f"reference is no table like x: {one_line(error)}. Give the same columns in both.") from error
