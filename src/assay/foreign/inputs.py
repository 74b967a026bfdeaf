"""Reads a user's rows, classes and baselines as tensors; SpecError says in one sentence what is wrong."""

from __future__ import annotations

from contextlib import suppress
from numbers import Real
from typing import Any, NoReturn

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from assay.core.errors import SpecError, suggest

BASELINES = ("zero", "mean", "uniform")
SHAPES = "write images as (N, channels, height, width), tables as (N, columns)"


def checked_baseline(baseline: object, dtype: torch.dtype = torch.float32) -> str | float:
    """The baseline, a name or a number that fits this number format; SpecError for anything else."""
    if isinstance(baseline, Real) and not isinstance(baseline, bool) and abs(float(baseline)) <= torch.finfo(dtype).max:
        return float(baseline)
    if isinstance(baseline, str) and baseline in BASELINES:
        return baseline
    close = suggest(baseline, BASELINES) if isinstance(baseline, str) else ""
    raise SpecError(
        f"baseline={baseline!r}: write {', '.join(BASELINES)} or a number that {dtype_name(dtype)} can hold.{close}"
    )


def as_rows(name: str, data: Any, model: nn.Module | None = None) -> Tensor:
    """A user's floats in a new tensor; arrays and data frames get the model's number format."""
    if isinstance(data, Tensor | list | tuple):
        return _as_tensor(name, data)
    is_frame = hasattr(data, "to_numpy") and hasattr(data, "columns")
    array = _frame_values(data) if is_frame else np.asarray(data)
    if array.dtype.kind != "f":
        return _refuse_other_than_floats(name, _content_name(array))
    rows = torch.from_numpy(_native(array, np.float64 if array.dtype.itemsize > 8 else array.dtype))
    return rows.to(_model_dtype(model) or (torch.get_default_dtype() if is_frame else rows.dtype))


def _as_tensor(name: str, data: Tensor | list[Any] | tuple[Any, ...]) -> Tensor:
    try:
        if isinstance(data, Tensor):
            rows = data.detach().clone()
        else:
            of_tensors = len(data) > 0 and all(isinstance(part, Tensor) for part in data)
            rows = torch.stack([part.detach() for part in data]) if of_tensors else torch.tensor(data)
    except Exception as error:
        raise SpecError(f"{name} cannot be read as a tensor: {one_line(error)}.") from error
    if rows.layout is not torch.strided:
        raise SpecError(f"{name} is a sparse tensor: give {name}.to_dense().")
    return rows if rows.is_floating_point() else _refuse_other_than_floats(name, dtype_name(rows.dtype))


def _frame_values(frame: Any) -> NDArray[Any]:
    """A data frame's numbers as floats; its values unchanged if they are not numbers."""
    array = np.asarray(frame.to_numpy())
    mixed = array.dtype.kind == "O" and not any(isinstance(value, str) for value in array.flat)
    with suppress(TypeError, ValueError):  # dates, missing values
        return array.astype(np.float64) if mixed or array.dtype.kind in "fiub" else array
    return array


def as_classes(name: str, classes: Any) -> Tensor:
    """A user's classes as a new tensor; SpecError where they are not numbers."""
    if isinstance(classes, Tensor):
        return classes.detach().clone()
    try:
        array = np.asarray(classes)
    except Exception as error:
        raise SpecError(f"{name} cannot be read as an array: {one_line(error)}.") from error
    if array.dtype.kind not in "fiub":
        raise SpecError(f"{name} holds {_content_name(array)}: give whole numbers, the classes.")
    return torch.from_numpy(_native(array, np.float64 if array.dtype.kind == "f" else np.int64))


def checked_rows(name: str, x: Tensor, like: Tensor | None = None) -> Tensor:
    """The rows, if they are finite and, with ``like``, of the same shape; SpecError says what is wrong."""
    if x.dim() < 2:
        raise SpecError(f"{name} has shape {tuple(x.shape)}: {SHAPES}.")
    if len(x) == 0:
        raise SpecError(f"{name} has no rows.")
    if like is not None and x.shape[1:] != like.shape[1:]:
        raise SpecError(f"{name} has rows of shape {tuple(x.shape[1:])}, and x of shape {tuple(like.shape[1:])}.")
    bad = (~x.flatten(1).isfinite().all(dim=1)).nonzero().flatten().tolist()
    if bad:
        listed = ", ".join(map(str, bad[:5])) + (", ..." if len(bad) > 5 else "")
        raise SpecError(f"{name} has NaN or infinite values in {len(bad)} of {len(x)} rows: {listed}.")
    return x


def checked_classes(name: str, classes: Tensor, rows: int, outputs: int) -> Tensor:
    """One class per row, (N,) long; SpecError where the model has no such classes."""
    classes = classes if classes.is_floating_point() else classes.long()
    if classes.is_floating_point() and not (bool(classes.isfinite().all()) and torch.equal(classes, classes.round())):
        raise SpecError(f"{name} holds fractions: give whole numbers, the classes.")
    if tuple(classes.shape) != (rows,):
        raise SpecError(f"{name} has shape {tuple(classes.shape)}: one class per row is needed, ({rows},).")
    wrong = (classes < 0) | (classes >= outputs)
    if bool(wrong.any()):
        model_outputs = (
            "one output: outputs='value' (--outputs value) explains it"
            if outputs == 1
            else f"outputs 0 to {outputs - 1}: give numbers of its outputs, or a model that has this class"
        )
        raise SpecError(f"{name} holds class {int(classes[wrong][0])}, and the model has {model_outputs}.")
    return classes.long()


def one_line(error: BaseException) -> str:
    """An error of foreign code on one line, at most 300 characters."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:300].rstrip(".")


def _refuse_other_than_floats(name: str, kind: str) -> NoReturn:
    raise SpecError(f"{name} holds {kind}: give floating point numbers, as the model reads them.")


def _native(array: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """A copy that torch can read: contiguous, in this machine's byte order."""
    return np.array(array, dtype=np.dtype(dtype).newbyteorder("="), order="C")


def _model_dtype(model: nn.Module | None) -> torch.dtype | None:
    parameters = model.parameters() if isinstance(model, nn.Module) else ()
    return next((parameter.dtype for parameter in parameters if parameter.is_floating_point()), None)


def _content_name(array: NDArray[Any]) -> str:
    return {"U": "text", "S": "text", "O": "objects"}.get(array.dtype.kind, array.dtype.name)


def dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
