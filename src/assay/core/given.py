"""Rows, classes and baselines of somebody's, as they are given: taken as tensors, or refused in one sentence."""

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


def sound_baseline(given: object, dtype: torch.dtype = torch.float32) -> str | float:
    """A baseline that rows of this number format can be compared with; SpecError where there is none of that name."""
    if isinstance(given, Real) and not isinstance(given, bool) and abs(float(given)) <= torch.finfo(dtype).max:
        return float(given)
    if isinstance(given, str) and given in BASELINES:
        return given
    close = suggest(given, BASELINES) if isinstance(given, str) else ""
    raise SpecError(
        f"baseline={given!r}: write {', '.join(BASELINES)} or a number that {dtype_name(dtype)} can hold.{close}"
    )


def as_rows(name: str, given: Any, model: nn.Module | None = None) -> Tensor:
    """Somebody's floats in a tensor of their own; those of arrays and data frames in the format that the model has."""
    if isinstance(given, Tensor | list | tuple):
        return _as_tensor(name, given)
    framed = hasattr(given, "to_numpy") and hasattr(given, "columns")
    array = _numbers_of(given) if framed else np.asarray(given)
    if array.dtype.kind != "f":
        return _no_floats(name, _kind(array))
    rows = torch.from_numpy(_native(array, np.float64 if array.dtype.itemsize > 8 else array.dtype))
    return rows.to(_format(model) or (torch.get_default_dtype() if framed else rows.dtype))


def _as_tensor(name: str, given: Tensor | list[Any] | tuple[Any, ...]) -> Tensor:
    try:
        if isinstance(given, Tensor):
            rows = given.detach().clone()
        else:
            parts = len(given) > 0 and all(isinstance(part, Tensor) for part in given)
            rows = torch.stack([part.detach() for part in given]) if parts else torch.tensor(given)
    except Exception as error:
        raise SpecError(f"{name} cannot be read as a tensor: {told(error)}.") from error
    if rows.layout is not torch.strided:
        raise SpecError(f"{name} is a sparse tensor: give {name}.to_dense().")
    return rows if rows.is_floating_point() else _no_floats(name, dtype_name(rows.dtype))


def _numbers_of(frame: Any) -> NDArray[Any]:
    """A data frame's numbers as floats, as far as it holds numbers."""
    array = np.asarray(frame.to_numpy())
    mixed = array.dtype.kind == "O" and not any(isinstance(value, str) for value in array.flat)
    with suppress(TypeError, ValueError):  # dates, missing values
        return array.astype(np.float64) if mixed or array.dtype.kind in "fiub" else array
    return array


def as_classes(name: str, given: Any) -> Tensor:
    """Somebody's classes as a tensor; SpecError where they are no numbers."""
    if isinstance(given, Tensor):
        return given.detach().clone()
    try:
        array = np.asarray(given)
    except Exception as error:
        raise SpecError(f"{name} cannot be read as an array: {told(error)}.") from error
    if array.dtype.kind not in "fiub":
        raise SpecError(f"{name} holds {_kind(array)}: give whole numbers, the classes.")
    return torch.from_numpy(_native(array, np.float64 if array.dtype.kind == "f" else np.int64))


def sound_rows(name: str, x: Tensor, like: Tensor | None = None) -> Tensor:
    """Finite rows, of the shape of others; SpecError says what is wrong with them."""
    if x.dim() < 2:
        raise SpecError(f"{name} has shape {tuple(x.shape)}: {SHAPES}.")
    if len(x) == 0:
        raise SpecError(f"{name} has no rows.")
    if like is not None and x.shape[1:] != like.shape[1:]:
        raise SpecError(f"{name} has rows of shape {tuple(x.shape[1:])}, and x of shape {tuple(like.shape[1:])}.")
    bad = (~x.flatten(1).isfinite().all(dim=1)).nonzero().flatten().tolist()
    if bad:
        told = ", ".join(map(str, bad[:5])) + (", ..." if len(bad) > 5 else "")
        raise SpecError(f"{name} has NaN or infinite values in {len(bad)} of {len(x)} rows: {told}.")
    return x


def sound_classes(name: str, given: Tensor, rows: int, outputs: int) -> Tensor:
    """One class per row, (N,) long; SpecError where these are none of the model's."""
    given = given if given.is_floating_point() else given.long()
    if given.is_floating_point() and not (bool(given.isfinite().all()) and torch.equal(given, given.round())):
        raise SpecError(f"{name} holds fractions: give whole numbers, the classes.")
    if tuple(given.shape) != (rows,):
        raise SpecError(f"{name} has shape {tuple(given.shape)}: one class per row is needed, ({rows},).")
    wrong = (given < 0) | (given >= outputs)
    if bool(wrong.any()):
        why = (
            "one output: outputs='value' (--outputs value) explains it"
            if outputs == 1
            else f"outputs 0 to {outputs - 1}"
        )
        raise SpecError(f"{name} holds class {int(given[wrong][0])}, and the model has {why}.")
    return given.long()


def told(error: BaseException) -> str:
    """Somebody else's error on one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:300].rstrip(".")


def _no_floats(name: str, kind: str) -> NoReturn:
    raise SpecError(f"{name} holds {kind}: give floating point numbers, as the model reads them.")


def _native(array: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """A copy as torch reads it: in the byte order of this machine, one number after the other."""
    return np.array(array, dtype=np.dtype(dtype).newbyteorder("="), order="C")


def _format(model: nn.Module | None) -> torch.dtype | None:
    parts = model.parameters() if isinstance(model, nn.Module) else ()
    return next((part.dtype for part in parts if part.is_floating_point()), None)


def _kind(array: NDArray[Any]) -> str:
    return {"U": "text", "S": "text", "O": "objects"}.get(array.dtype.kind, array.dtype.name)


def dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
