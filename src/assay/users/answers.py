"""Which tensor (rows, outputs) of a model's answer is explained: models answer with tensors, arrays, tuples, dicts,
frames and objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from assay.core.errors import SpecError, suggest
from assay.foreign.inputs import dtype_name

Name: TypeAlias = str | int


@dataclass(frozen=True)
class Pick:
    """Takes one tensor out of an answer; one number per row becomes (rows, 1)."""

    output: Name | None = None  # None: the answer is the tensor

    def __call__(self, answer: Any) -> Tensor:
        tensor = as_tensor(answer if self.output is None else parts(answer)[self.output])
        return tensor.unsqueeze(1) if tensor.dim() == 1 else tensor


def choose(answer: Any, output: Name | None, rows: int) -> tuple[Pick, str]:
    """What is explained of an answer to this many rows, and words about it where there was a choice."""
    if is_numbers(answer):
        return _whole(as_tensor(answer), output, rows)
    found = parts(answer)
    if not found:
        raise SpecError(f"the model answers a batch of {rows} with {type(answer).__name__}: {_needed()}.")
    tensors = {name: as_tensor(part) for name, part in found.items() if is_numbers(part)}
    listed, kind = _listed(found), type(answer).__name__
    if output is not None:
        name = _named(output, found, f"the model answers with {kind} ({listed})")
        if name not in tensors or not _fits(tensors[name], rows):
            raise SpecError(f"output={output!r} of the model's answer is {_shape(found[name])}: {_needed()}.")
        return Pick(name), f"output {name!r} of {kind} ({listed})"
    fitting = [name for name, tensor in tensors.items() if _fits(tensor, rows)]
    if not fitting:
        raise SpecError(f"the model answers a batch of {rows} with {kind} ({listed}): {_needed()}.")
    if len(fitting) > 1:
        lines = " or ".join(f"output={name!r}" for name in fitting)
        raise SpecError(f"the model answers with {kind} ({listed}): say which of them is explained, {lines}.")
    return Pick(fitting[0]), f"output {fitting[0]!r} of {kind} ({listed})"


def _whole(tensor: Tensor, output: Name | None, rows: int) -> tuple[Pick, str]:
    if output is not None:
        raise SpecError(
            f"output={output!r} chooses one of several tensors, and the model answers with one, of shape "
            f"{tuple(tensor.shape)}: leave output out. target chooses a class."
        )
    if not _fits(tensor, rows) and not (tensor.dim() in (1, 2) and len(tensor) == rows):
        raise SpecError(f"the model answers a batch of {rows} with {tuple(tensor.shape)}: {_needed(tensor, rows)}.")
    if not tensor.is_floating_point():
        raise SpecError(
            f"the model answers with {dtype_name(tensor.dtype)}: floating point numbers are needed, scores or "
            "probabilities in place of the names of classes."
        )
    return Pick(), ""


def as_tensor(value: Any) -> Tensor:
    """Numbers of any package as a tensor."""
    if isinstance(value, Tensor):
        return value
    array = np.asarray(value.to_numpy() if hasattr(value, "to_numpy") else value)
    return torch.from_numpy(np.array(array, dtype=array.dtype.newbyteorder("=")))


def is_numbers(value: Any) -> bool:
    """Whether a value is a tensor, or an array, a frame or a list of numbers."""
    if isinstance(value, Tensor):
        return True
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    if isinstance(value, list) and value and not any(isinstance(part, Tensor | np.ndarray) for part in value):
        value = _array(value)
    return isinstance(value, np.ndarray | np.floating) and value.dtype.kind in "fiub"


def _array(values: list[Any]) -> Any:
    try:
        return np.asarray(values)
    except ValueError:  # of different lengths
        return None


def parts(answer: Any) -> dict[Name, Any]:
    """The parts of an answer that is several things, by name or position; empty where it has none."""
    if isinstance(answer, Mapping):
        return dict(answer)
    if isinstance(answer, tuple) and hasattr(answer, "_fields"):
        return dict(zip(answer._fields, answer, strict=True))
    if isinstance(answer, list | tuple):
        return dict(enumerate(answer))
    if is_dataclass(answer) and not isinstance(answer, type):
        return {field.name: getattr(answer, field.name) for field in fields(answer)}
    return {name: part for name, part in getattr(answer, "__dict__", {}).items() if not name.startswith("_")}


def _named(output: Name, found: Mapping[Name, Any], what: str) -> Name:
    """The part that is meant; a position counts where parts have names."""
    if output in found:
        return output
    if isinstance(output, int) and -len(found) <= output < len(found):
        return list(found)[output]
    raise SpecError(f"{what}, which has no output {output!r}.{suggest(str(output), map(str, found))}")


def _fits(tensor: Tensor, rows: int) -> bool:
    """Whether a tensor is floats (rows, outputs) or (rows,)."""
    shape = tensor.shape
    return tensor.is_floating_point() and tensor.dim() in (1, 2) and shape[0] == rows and shape[-1] > 0


def _listed(found: Mapping[Name, Any]) -> str:
    shown = [f"{name}: {_shape(part)}" for name, part in list(found.items())[:6]]
    return ", ".join([*shown, "..."] if len(found) > 6 else shown)


def _shape(part: Any) -> str:
    if not is_numbers(part):
        return type(part).__name__
    tensor = as_tensor(part)
    return f"{dtype_name(tensor.dtype)} {tuple(tensor.shape)}"


def _needed(tensor: Tensor | None = None, rows: int = 0) -> str:
    """What an answer has to be, and the line that works."""
    example = "model(x)[0]"
    if tensor is not None and tensor.dim() > 2 and len(tensor) == rows:  # a number for each pixel or word
        example = f"model(x).mean(dim={tuple(range(2, tensor.dim()))})"
    return (
        "floats (rows, outputs) are needed, or one number per row. Say what is explained: "
        f"forward=lambda model, x: {example}, for example"
    )
