"""Arrays, tensors and lists of numbers as tensors in the model's number format."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from assay.core.errors import SpecError
from assay.foreign.inputs import checked_rows, dtype_name, one_line
from assay.users.reading import Reading

LARGEST = 2**28  # entries that a sparse matrix may have


def numbers_of(name: str, data: Any) -> Tensor:
    """A user's numbers in a new tensor, in their own format; SpecError where they are none."""
    if isinstance(data, Tensor):
        numbers = data.detach().clone()
    elif _is_list(data) and len(data) and all(isinstance(part, Tensor) for part in data):
        numbers = _stacked(name, data)
    else:
        numbers = _array(name, data)
    if numbers.layout is not torch.strided:
        raise SpecError(f"{name} is a sparse tensor: give {name}.to_dense().")
    if numbers.is_complex():
        raise SpecError(f"{name} holds complex numbers: give real ones, for example their real and imaginary parts.")
    return numbers


def floats(name: str, numbers: Tensor, dtype: torch.dtype) -> Tensor:
    """Finite rows in this format."""
    return as_dtype(name, checked_rows(name, numbers), dtype)


def as_dtype(name: str, numbers: Tensor, dtype: torch.dtype) -> Tensor:
    """The numbers in another format; SpecError where one of them is too large for it."""
    converted = numbers.to(dtype)
    if numbers.is_floating_point() and bool((converted.isinf() & numbers.isfinite()).any()):
        largest = float(numbers[numbers.isfinite()].abs().max())
        raise SpecError(
            f"{name} holds numbers up to {largest:.3g}, which {dtype_name(dtype)} cannot hold: give it in units that "
            "make them smaller."
        )
    return converted


def float_format(numbers: Tensor, reading: Reading, data: Any) -> torch.dtype:
    """The model's format; without one the data's own, and a default for whole numbers and Python's."""
    own = numbers.is_floating_point() and not _is_list(data)
    return reading.dtype or (numbers.dtype if own else reading.format)


def conversion(name: str, numbers: Tensor, dtype: torch.dtype) -> tuple[str, ...]:
    """What is told where numbers change their format."""
    if numbers.dtype == dtype:
        return ()
    return (f"{name} holds {dtype_name(numbers.dtype)} numbers, which are read as {dtype_name(dtype)}.",)


def _is_list(data: Any) -> bool:
    return isinstance(data, list | tuple)


def _stacked(name: str, parts: Any) -> Tensor:
    try:
        return torch.stack([part.detach() for part in parts])
    except RuntimeError as error:
        shapes = ", ".join(dict.fromkeys(str(tuple(part.shape)) for part in parts))
        raise SpecError(f"{name} has rows of different shapes, {shapes}: give all of them one shape.") from error


def _array(name: str, data: Any) -> Tensor:
    if hasattr(data, "toarray"):  # SciPy's sparse matrices
        if np.prod(data.shape) > LARGEST:
            raise SpecError(f"{name} is a sparse matrix of {np.prod(data.shape):,} entries: give at most {LARGEST:,}.")
        data = data.toarray()
    if isinstance(data, np.ma.MaskedArray) and np.any(data.mask):
        data = np.where(data.mask, np.nan, data.data)
    try:
        array = np.asarray(data)
    except Exception as error:  # of any object's __array__
        raise SpecError(f"{name} cannot be read as an array: {one_line(error)}. Give rows of one shape.") from error
    if array.dtype.kind not in "fiubc":
        what = {"U": "text", "S": "bytes", "O": f"objects ({type(data).__name__})", "M": "dates", "m": "times"}
        found = what.get(array.dtype.kind, array.dtype.name)
        raise SpecError(f"{name} holds {found}: give numbers; text and numbers together go into a pandas.DataFrame.")
    kinds = {"u": np.int64, "f": np.float64} if array.dtype.name not in ("uint8", "float16", "float32") else {}
    kind = np.dtype(kinds.get(array.dtype.kind, array.dtype))
    return torch.from_numpy(np.array(array, dtype=kind.newbyteorder("="), order="C"))
