"""How rows reach a model: as the user gave them, as arrays, as tensors, in the number format and layout it reads."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from assay.core.errors import SpecError
from assay.foreign.inputs import dtype_name, one_line
from assay.users.answers import as_tensor, is_numbers
from assay.users.rows import Rows

Change: TypeAlias = Callable[[Any], Any]
Forward: TypeAlias = Callable[[Any, Any], Any]
FRAMES = "a frame"


@dataclass(frozen=True, eq=False)
class Way:
    """One way to pass entries to a model."""

    rows: Change  # entries -> what the model reads
    words: str = ""  # empty: as everybody would pass them
    keyword: str = ""  # the name of the argument; **: rows are a dict of arguments; empty: the first argument
    forward: Forward | None = None  # the user's, called with the model and the rows

    def __call__(self, model: Callable[..., Any], x: Tensor) -> Any:
        rows = self.rows(x)
        if self.forward is not None:
            return self.forward(model, rows)
        if self.keyword == "**":
            return model(**rows)
        return model(**{self.keyword: rows}) if self.keyword else model(rows)

    @property
    def is_plain(self) -> bool:
        """Whether the model is called with the entries, and nothing else is done."""
        return self.rows is itself and not self.keyword and self.forward is None


def first_that_works(model: Callable[..., Any], ways: Iterable[Way], x: Tensor) -> tuple[Way, Any]:
    """The first way in which the model reads the rows, and its answer; SpecError says why none does."""
    errors: list[tuple[str, Exception]] = []
    for way in ways:
        try:
            with torch.no_grad():
                return way, way(model, x.clone())
        except Exception as error:
            errors.append((way.words, error))
    raise SpecError(_refusal(x, errors)) from errors[0][1]


def _refusal(x: Tensor, errors: list[tuple[str, Exception]]) -> str:
    shape = f"rows of shape {tuple(x.shape[1:])}, {dtype_name(x.dtype)}"
    others = ", ".join(dict.fromkeys(words for words, _ in errors[1:] if words))
    tried = f" (tried, too: {others})" if others else ""
    return (
        f"the model cannot read {shape}: {one_line(errors[0][1])}{tried}. forward=lambda model, x: ... passes rows in "
        "another way."
    )


def module_ways(model: nn.Module, rows: Rows) -> Iterator[Way]:
    """For torch modules: tensors, in the number format of the parameters first."""
    dtype = number_format(model)
    moved = "with steps and channels swapped" if rows.kind == "series" else "with channels in the last place"
    for way in _tensor_ways(model, rows):
        converted = _Cast(way.rows, None, model)
        is_other = dtype not in (None, rows.x.dtype)
        yield replace(way, rows=converted, words=f"as {dtype_name(dtype)}") if is_other else way  # type: ignore[arg-type]
        for other in (torch.float64, torch.float32):
            yield replace(way, rows=_Cast(way.rows, other), words=f"as {dtype_name(other)}")
        if way.keyword != "**" and _is_whole(rows.x):
            yield replace(way, rows=_Cast(way.rows, torch.int64), words="as whole numbers (int64)")
        if way.keyword != "**" and rows.kind in ("image", "series"):
            yield replace(way, rows=_ChannelsMoved(converted), words=moved)


def _tensor_ways(model: nn.Module, rows: Rows) -> Iterator[Way]:
    if rows.given is not None:
        given, read = rows.given(rows.x[:1]), _Cast(rows.given, None, model)
        if isinstance(given, Mapping):
            yield Way(read, f"as arguments {', '.join(map(str, given))}", "**")
        elif is_numbers(given) and type_name(given) != FRAMES:
            yield Way(read)
    keyword = "pixel_values" if rows.kind == "image" and "pixel_values" in parameters(model.forward) else ""
    yield Way(itself, f"as {keyword}" if keyword else "", keyword)


def function_ways(rows: Rows, by_name: bool) -> Iterator[Way]:
    """For functions: rows as the user gave them (a dict as arguments ``by_name`` first), arrays, tensors."""
    if rows.given is not None:
        given = rows.given(rows.x[:1])
        if isinstance(given, Mapping) and by_name:
            yield Way(rows.given, f"as arguments {', '.join(map(str, given))}", "**")
        yield Way(rows.given, f"as {type_name(given)}")
    yield Way(_array, "as an array")
    yield Way(itself, "as a tensor")


def forward_ways(forward: Forward, rows: Rows) -> Iterator[Way]:
    """For a module and a user's ``forward``: rows as the user gave them, tensors, arrays."""
    if rows.given is not None:
        yield Way(rows.given, f"as {type_name(rows.given(rows.x[:1]))}", forward=forward)
    yield Way(itself, "as a tensor", forward=forward)
    yield Way(_array, "as an array", forward=forward)


def as_tensor_if_equal(model: Callable[..., Any], way: Way, answer: Any, x: Tensor) -> tuple[Way, Any]:
    """Rows as a tensor, if a function of arrays answers with tensors, and the same to a tensor: it may have
    gradients."""
    tensors = replace(way, rows=itself, words="as a tensor")
    if way.rows is not _array or not isinstance(answer, Tensor):
        return way, answer
    try:
        with torch.no_grad():
            other = tensors(model, x.clone())
    except Exception:  # of any code that the function calls
        return way, answer
    is_same = isinstance(other, Tensor) and other.shape == answer.shape and torch.allclose(other, answer.to(other))
    return (tensors, other) if is_same else (way, answer)


def type_name(given: Any) -> str:
    """What rows are, in words."""
    if hasattr(given, "columns"):
        return FRAMES
    names = {Tensor: "a tensor", np.ndarray: "an array", list: "a list", dict: "a dict"}
    return names.get(type(given), type(given).__name__)


def parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of a function's parameters; empty where they are not known."""
    try:
        return tuple(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # of compiled code
        return ()


def itself(x: Any) -> Any:
    return x


def _array(x: Tensor) -> Any:
    return x.detach().cpu().numpy()


def _is_whole(x: Tensor) -> bool:
    return torch.equal(x, x.round())


def number_format(model: nn.Module) -> torch.dtype | None:
    """Of a module's first floating point parameter, or buffer."""
    tensors = (*model.parameters(), *model.buffers())
    return next((tensor.dtype for tensor in tensors if tensor.is_floating_point()), None)


@dataclass(frozen=True, eq=False)
class _Cast:
    """Rows in a number format: that of the model's parameters at the time of the call, or a fixed one."""

    rows: Change
    dtype: torch.dtype | None
    model: nn.Module | None = None

    def __call__(self, x: Tensor) -> Any:
        rows = self.rows(x)
        if isinstance(rows, Mapping):
            return {name: self._cast(part) if is_numbers(part) else part for name, part in rows.items()}
        return self._cast(rows)

    def _cast(self, part: Any) -> Tensor:
        tensor = as_tensor(part)
        dtype = self.dtype if self.model is None else number_format(self.model)
        if dtype is None or not tensor.is_floating_point():
            return tensor
        return (tensor if dtype.is_floating_point else tensor.round()).to(dtype)


@dataclass(frozen=True, eq=False)
class _ChannelsMoved:
    """The second axis becomes the last one."""

    rows: Change

    def __call__(self, x: Tensor) -> Tensor:
        tensor: Tensor = self.rows(x)
        return tensor.movedim(1, -1)
