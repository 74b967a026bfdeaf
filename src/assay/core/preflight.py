"""Is this what a model of somebody's and rows of theirs should be? Asked once, before anything is computed."""

from __future__ import annotations

from copy import deepcopy
from numbers import Real
from typing import Any, NoReturn

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from assay.core.errors import SpecError, suggest

READOUTS = {
    "logits": ("logit", "probability", "margin", "value"),
    "probabilities": ("probability",),
    "value": ("value",),
}
BASELINES = ("zero", "mean", "uniform")
SHAPES = "write images as (N, channels, height, width), tables as (N, columns)"
ROWS = 8  # tried
SLACK = 1e-3  # by which probabilities may miss 1
EXACT = 1e-4  # by which they do where logits were promised
ROUNDING = 1e-4  # of the largest output: what the size of a batch may change


def default_readout(outputs: str, given: str | None) -> str:
    """What is explained unless somebody says so; SpecError where a model with these outputs has no such number."""
    if outputs not in READOUTS:
        raise SpecError(f"outputs='{outputs}': a model answers with {', '.join(READOUTS)}.")
    known = READOUTS[outputs]
    if given is not None and given not in known:
        raise SpecError(f"a model that answers with {outputs} has no readout '{given}': write {' or '.join(known)}.")
    return given or known[0]


def sound_baseline(given: object, dtype: torch.dtype = torch.float32) -> str | float:
    """A baseline that rows of this number format can be compared with; SpecError where there is none of that name."""
    if isinstance(given, Real) and not isinstance(given, bool) and abs(float(given)) <= torch.finfo(dtype).max:
        return float(given)
    if isinstance(given, str) and given in BASELINES:
        return given
    close = suggest(given, BASELINES) if isinstance(given, str) else ""
    raise SpecError(
        f"baseline={given!r}: write {', '.join(BASELINES)} or a number that {_named(dtype)} can hold.{close}"
    )


def as_rows(name: str, given: Any, model: nn.Module | None = None) -> Tensor:
    """Somebody's floats in a tensor of their own; a data frame's numbers are of the format that the model has."""
    if isinstance(given, Tensor | list | tuple):
        try:
            rows = given.detach().clone() if isinstance(given, Tensor) else torch.tensor(given)
        except Exception as error:
            raise SpecError(f"{name} cannot be read as a tensor: {told(error)}.") from error
        return rows if rows.is_floating_point() else _no_floats(name, _named(rows.dtype))
    framed = hasattr(given, "to_numpy") and hasattr(given, "columns")
    array = np.asarray(given.to_numpy() if framed else given)
    if array.dtype.kind not in ("fiub" if framed else "f"):
        return _no_floats(name, _kind(array))
    rows = torch.from_numpy(_native(array, np.float64 if array.dtype.itemsize > 8 or framed else array.dtype))
    return rows.to(_format(model)) if framed else rows


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


def copied(model: nn.Module) -> nn.Module:
    """A copy, to be changed; SpecError where it is no model, or cannot be copied."""
    if not isinstance(model, nn.Module):
        raise SpecError(f"the model is {type(model).__name__}, not a torch.nn.Module: call it in the forward of one.")
    try:
        return deepcopy(model)
    except Exception as error:
        raise SpecError(f"the model cannot be copied: {told(error)}.") from error


def frozen(model: nn.Module, x: Tensor) -> nn.Module:
    """A copy, frozen and in evaluation mode; where it writes into its input, it is given copies of that."""
    copy = copied(model).eval().requires_grad_(False)
    rows = _in_company(x)
    given = rows.clone()
    _answer(copy, given)
    if given._version or not torch.equal(given, rows):
        copy.register_forward_pre_hook(_on_copies)
    return copy


def outputs_of(model: nn.Module, x: Tensor, outputs: str) -> int:
    """How many outputs the model has, asked about a few rows; SpecError where its answer is not what was said.

    Every row must have one answer: the same when it is asked for again, and the same without the other rows.
    """
    rows = _in_company(x)
    answer = _answer(model, rows.clone())
    if not _close(answer, _answer(model, rows.clone()), _largest(answer)):
        raise SpecError(
            "the model answers the same rows with other numbers when it is asked again, in evaluation mode: it draws "
            "random numbers (dropout that is always on?) or remembers earlier calls. Give one that does neither."
        )
    for index in (0, len(rows) - 1):  # the last one, too: what reads a batch as a sequence leaves the first alone
        _sound_alone(model, rows[index : index + 1], answer[index : index + 1], _largest(answer))
    answer = answer[: len(x)]  # without the company
    if bool(answer.isnan().any()):
        raise SpecError(f"the model answers with NaN for {int(answer.isnan().any(dim=1).sum())} of {len(answer)} rows.")
    misses, below = (answer.double().sum(dim=1) - 1).abs(), bool((answer < 0).any())
    if outputs == "probabilities" and (below or bool((misses > SLACK).any())):
        raise SpecError("the model's answers are no probabilities (at least 0, adding up to 1): are they logits?")
    close = max(EXACT, torch.finfo(answer.dtype).eps)
    if outputs == "logits" and answer.shape[1] > 1 and not below and bool((misses <= close).all()):
        raise SpecError(
            "the model's answers are probabilities (at least 0, adding up to 1), and logits were promised: give "
            "outputs='probabilities' (--outputs probabilities), or the model without its softmax."
        )
    return int(answer.shape[1])


def sound_twin(name: str, one: nn.Module, two: nn.Module, x: Tensor) -> None:
    """SpecError where two models that should be the same are not, in weights or in answers."""
    why = f"{name} makes another model every time"
    left, right = one.state_dict(), two.state_dict()
    if left.keys() != right.keys() or not all(torch.equal(left[key], right[key]) for key in left):
        raise SpecError(f"{why}: give its weights as a file.")
    if not torch.equal(_answer(one, x[:ROWS].clone()), _answer(two, x[:ROWS].clone())):
        raise SpecError(
            f"{why}: it draws numbers that its state_dict does not hold. Draw them with a seed of their own."
        )


def sound_classes(name: str, given: Tensor, rows: int, outputs: int) -> Tensor:
    """One class per row, (N,) long; SpecError where these are none of the model's."""
    given = given if given.is_floating_point() else given.long()
    if given.is_floating_point() and not (bool(given.isfinite().all()) and torch.equal(given, given.round())):
        raise SpecError(f"{name} holds fractions: give whole numbers, the classes.")
    if tuple(given.shape) != (rows,):
        raise SpecError(f"{name} has shape {tuple(given.shape)}: one class per row is needed, ({rows},).")
    wrong = (given < 0) | (given >= outputs)
    if bool(wrong.any()):
        first = int(given[wrong][0])
        raise SpecError(f"{name} holds class {first}, and the model has outputs 0 to {outputs - 1}.")
    return given.long()


def told(error: BaseException) -> str:
    """Somebody else's error on one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:300].rstrip(".")


def _in_company(x: Tensor) -> Tensor:
    """The first rows, so that not all are equal: with a row of zeros where they are."""
    rows = x[:ROWS]
    return rows if bool((rows != rows[:1]).any()) else torch.cat([rows, torch.zeros_like(rows[:1])])


def _answer(model: nn.Module, rows: Tensor) -> Tensor:
    try:
        with torch.no_grad():
            answer = model(rows)
    except Exception as error:
        shape = f"{tuple(rows.shape[1:])}, {rows.dtype}"
        raise SpecError(f"the model cannot read rows of shape {shape}: {told(error)}.") from error
    fits = isinstance(answer, Tensor) and answer.dim() == 2 and len(answer) == len(rows) and answer.shape[1] > 0
    if not fits:
        shape = str(tuple(answer.shape)) if isinstance(answer, Tensor) else type(answer).__name__
        raise SpecError(f"the model answers a batch of {len(rows)} with {shape}: a tensor (rows, outputs) is needed.")
    if not answer.is_floating_point():
        raise SpecError(f"the model answers with {_named(answer.dtype)}: floating point numbers are needed.")
    return answer.cpu()  # type: ignore[no-any-return]


def _sound_alone(model: nn.Module, row: Tensor, among: Tensor, largest: float) -> None:
    """SpecError where a row's answer among others hangs on them."""
    why = "it mixes the rows of a batch, as batch normalisation without running statistics does"
    try:
        alone = _answer(model, row.clone())
    except SpecError as error:
        if error.__cause__ is None:  # an answer of a shape that is of no use
            raise
        raise SpecError(
            f"the model answers no row alone, only among others: {why} ({told(error.__cause__)})."
        ) from None
    if not _close(among, alone, largest):
        raise SpecError(f"the model answers a row alone with other numbers than among others: {why}.")


def _close(left: Tensor, right: Tensor, largest: float) -> bool:
    """Equal up to rounding, which is measured by the largest output."""
    slack = max(ROUNDING, 8 * torch.finfo(left.dtype).eps) * largest
    same = left.shape == right.shape
    return same and torch.allclose(left.double(), right.double(), rtol=0, atol=slack, equal_nan=True)


def _largest(answer: Tensor) -> float:
    return float(torch.where(answer.isfinite(), answer.abs(), 0).max())


def _on_copies(_module: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(part.clone() if isinstance(part, Tensor) else part for part in inputs)


def _no_floats(name: str, kind: str) -> NoReturn:
    raise SpecError(f"{name} holds {kind}: give floating point numbers, as the model reads them.")


def _native(array: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """A copy as torch reads it: in the byte order of this machine, one number after the other."""
    return np.array(array, dtype=np.dtype(dtype).newbyteorder("="), order="C")


def _format(model: nn.Module | None) -> torch.dtype:
    parts = model.parameters() if isinstance(model, nn.Module) else ()
    return next((part.dtype for part in parts if part.is_floating_point()), torch.get_default_dtype())


def _kind(array: NDArray[Any]) -> str:
    return {"U": "text", "S": "text", "O": "objects"}.get(array.dtype.kind, array.dtype.name)


def _named(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
