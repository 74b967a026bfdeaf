"""A user's labels: one per row, as they were given."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from assay.core.errors import SpecError
from assay.core.records import printable
from assay.foreign.inputs import one_line
from assay.users.phrases import of_rows


def checked_labels(name: str, labels: Any, rows: int) -> NDArray[Any]:
    """(N,): whole numbers, values, texts, or True and False; SpecError says which row has none."""
    try:
        values = np.asarray(labels.detach().cpu() if isinstance(labels, Tensor) else labels)
    except Exception as error:  # of any object's __array__
        raise SpecError(f"{name} cannot be read as an array: {one_line(error)}.") from error
    values = values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
    if values.shape != (rows,):
        raise SpecError(f"{name} has shape {values.shape}: one label per row is needed, ({rows},).")
    missing = np.isnan(values) if values.dtype.kind == "f" else np.array([_is_missing(value) for value in values.flat])
    if missing.any():
        raise SpecError(f"{name} is missing in {of_rows(missing)}: leave these rows out.")
    if values.dtype.kind == "O":
        values = np.array(values.tolist())
    if values.dtype.kind not in "biufU" or values.ndim != 1:
        raise SpecError(f"{name} holds {values.dtype.name}: give classes, as texts or whole numbers, or values.")
    return values


def _is_missing(value: Any) -> bool:
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA
        return True


def check_differ(name: str, labels: NDArray[Any]) -> None:
    """SpecError where a column of labels has one value."""
    if len(labels) > 1 and (labels == labels[0]).all():
        only = printable(str(labels[0]), 60)
        raise SpecError(
            f"{name} is '{only}' in all {len(labels):,} rows: labels of several classes or values are needed. Name "
            "another column, add rows, or leave the label out."
        )
