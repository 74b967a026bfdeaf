"""A user's labels and targets as numbers of outputs: by the names of classes, else as they are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from assay.core.errors import SpecError, suggest
from assay.foreign.inputs import as_classes, checked_classes, one_line
from assay.users.rows import Rows
from assay.users.taken import Taken


def label_numbers(rows: Rows, taken: Taken, name: str = "label") -> Tensor | None:
    """The output of each row's class, (N,) long; None without labels. All are 0 where the model answers with a value:
    labels are true values then."""
    if rows.label is None:
        return None
    if taken.outputs == "value":
        return _zeros(name, rows.label, len(rows))
    if rows.label.dtype.kind == "f" and (rows.label != rows.label.round()).any():
        raise SpecError(
            f"{name} holds fractions, and the model answers with {taken.outputs} of {taken.count} classes: give "
            "numbers of classes, or outputs='value' (--outputs value) and a target if the outputs are values."
        )
    return output_numbers(name, rows.label, len(rows), taken, rows.classes)


def output_numbers(name: str, values: Any, rows: int, taken: Taken, order: Sequence[str] = ()) -> Tensor:
    """The outputs that classes mean, (rows,) long; one class stands for all rows.

    Names come before numbers: an estimator of the classes 1, 2 and 3 has output 0 for class 1. ``order`` names the
    classes that whole numbers count, where the data have an order.
    """
    try:
        array = values.detach().cpu().numpy() if isinstance(values, Tensor) else np.asarray(values)
    except ValueError as error:
        raise SpecError(f"{name} cannot be read as an array: {one_line(error)}.") from error
    numeric = array.dtype.kind in "fiub"
    array = as_classes(name, array).numpy() if numeric else array
    array = np.repeat(array, rows) if array.ndim == 0 else array
    names = _names(name, taken, order)
    if numeric and order:
        array = _through(names, array, order)
    elif not numeric or _are_numbers(names):
        array = _by_name(name, array, names)
    return checked_classes(name, torch.from_numpy(np.asarray(array)), rows, taken.count)


def _zeros(name: str, label: NDArray[Any], rows: int) -> Tensor:
    if label.dtype.kind not in "fiub":
        raise SpecError(f"the model answers with a value, and {name} holds text: give the true values, as numbers.")
    if len(label) != rows:
        raise SpecError(f"{name} has shape {label.shape}: one value per row is needed, ({rows},).")
    return torch.zeros(rows, dtype=torch.long)


def _names(name: str, taken: Taken, order: Sequence[str]) -> tuple[str, ...]:
    """The names of the outputs: the model's, else the data's."""
    if not order or set(order) <= set(taken.classes):
        return tuple(map(_plain, taken.classes))
    if len(order) != taken.count:
        raise SpecError(
            f"the data name {len(order)} classes ({', '.join(order[:5])}{', ...' if len(order) > 5 else ''}), and the "
            f"model has {taken.count} outputs: {name} needs the classes of all outputs, in their order."
        )
    return tuple(order)


def _through(names: tuple[str, ...], array: NDArray[Any], order: Sequence[str]) -> NDArray[Any]:
    """Numbers of the data's classes as numbers of outputs of the same names."""
    places = [names.index(one) for one in order] if set(order) <= set(names) else list(range(len(order)))
    in_range = ((array >= 0) & (array < len(order))).all() and (array == array.round()).all()
    return np.array(places)[array.astype(int)] if in_range else array


def _by_name(name: str, array: NDArray[Any], names: tuple[str, ...]) -> NDArray[Any]:
    known, found = {one: index for index, one in enumerate(names)}, [_plain(one) for one in array.ravel().tolist()]
    unknown = sorted(set(found) - set(known))
    if not names:
        raise SpecError(f"{name} holds text, and the model does not name its classes: give numbers of outputs, from 0.")
    if unknown:
        shown = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
        raise SpecError(
            f"{name} holds class {unknown[0]!r} ({len(set(found))} classes in all), and the model has {len(names)}: "
            f"{shown}.{suggest(unknown[0], names)}"
        )
    return np.array([known[one] for one in found]).reshape(array.shape)


def _are_numbers(names: tuple[str, ...]) -> bool:
    return bool(names) and all(re.fullmatch(r"-?\d+(\.\d+)?", one) for one in names)


def _plain(value: Any) -> str:
    """1, 1.0 and True are the same class."""
    if isinstance(value, bool | np.bool_):
        return str(int(value))
    text = str(value)
    return {"True": "1", "False": "0"}.get(text, re.sub(r"^(-?\d+)\.0$", r"\1", text))
