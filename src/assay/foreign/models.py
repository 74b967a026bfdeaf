"""A user's model: checked once, before anything is computed, and put into a setting."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from assay.core.errors import SpecError
from assay.core.footprint import footprint
from assay.core.machine import Machine
from assay.core.setting import model_copy
from assay.foreign.arrays import check_archive
from assay.foreign.inputs import dtype_name, one_line

READOUTS = {
    "logits": ("logit", "probability", "margin", "value"),
    "probabilities": ("probability",),
    "value": ("value",),
}
ROWS = 8  # on which a model is tested
PART = 64  # rows per call where no machine limits the memory
SLACK = 1e-3  # by which a sum of probabilities may differ from 1
HALF_SLACK = 0.05  # the most in half precision, where each of many probabilities is rounded
EXACT = 1e-4  # by which their sum differs from 1 at most, where logits were promised
ROUNDING = 1e-4  # of the largest output: what the size of a batch may change


def read_state(path: str) -> Mapping[str, Tensor]:
    """The state_dict in a file, real tensors only; errors are those of three libraries."""
    check_archive(path)
    state = load_file(path) if path.endswith(".safetensors") else torch.load(path, "cpu", weights_only=True)
    if isinstance(state, Mapping) and any(
        torch.is_complex(part) for part in state.values() if isinstance(part, Tensor)
    ):
        raise TypeError("it holds complex numbers, of which half would be lost")
    return state  # type: ignore[no-any-return]


def default_readout(outputs: str, readout: str | None) -> str:
    """The readout, by default the first one of these outputs; SpecError where a model with these outputs has none."""
    if outputs not in READOUTS:
        raise SpecError(f"outputs='{outputs}': a model answers with {', '.join(READOUTS)}.")
    readouts = READOUTS[outputs]
    if readout is not None and readout not in readouts:
        raise SpecError(
            f"a model that answers with {outputs} has no readout '{readout}': write {' or '.join(readouts)}."
        )
    return readout or readouts[0]


def predictions(model: nn.Module, x: Tensor, outputs: str, machine: Machine | None = None) -> Tensor:
    """The class that the model predicts for each row; 0 where it answers with a value. A machine limits the memory."""
    if outputs == "value":
        return torch.zeros(len(x), dtype=torch.long, device=x.device)
    rows = PART if machine is None else machine.rows(footprint(model, x[:1]).forward)
    with torch.no_grad():
        return torch.cat([model(part).argmax(dim=-1) for part in x.split(rows)])


def checked_copy(model: nn.Module) -> nn.Module:
    """A copy of the model, which may be changed; SpecError where it is not a model, or cannot be copied."""
    if not isinstance(model, nn.Module):
        name = type(model).__name__
        raise SpecError(f"the model is {name}, not a torch.nn.Module and no estimator: call it in the forward of one.")
    if any(is_lazy(tensor) for tensor in (*model.parameters(), *model.buffers())):
        raise SpecError("the model has lazy layers that were never called: call it once, then give it.")
    try:
        return model_copy(model)
    except Exception as error:
        raise SpecError(f"the model cannot be copied: {one_line(error)}.") from error


def frozen_copy(model: nn.Module, x: Tensor) -> nn.Module:
    """A copy, frozen and in evaluation mode; if it writes into its input, a hook passes it copies of the input."""
    return guarded(frozen(checked_copy(model)), x)


def frozen(model: nn.Module) -> nn.Module:
    """The model itself, in evaluation mode and without gradients of its parameters."""
    model.eval()
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    return model


def guarded(model: nn.Module, x: Tensor) -> nn.Module:
    """The model itself; if it writes into its input, a hook passes it copies of the input."""
    rows = probe_rows(x)
    input_rows = rows.clone()
    _answer(model, input_rows)
    if input_rows._version or not torch.equal(input_rows, rows):
        model.register_forward_pre_hook(_clone_inputs)
    return model


def has_gradients(model: nn.Module, x: Tensor) -> bool:
    """Whether the outputs have gradients: not if the forward pass leaves torch, or turns gradients off."""
    try:
        with torch.enable_grad():
            return bool(model(probe_rows(x).detach().clone().requires_grad_()).requires_grad)
    except torch.OutOfMemoryError:
        raise
    except Exception:  # of any code that the forward pass calls
        return False


def count_outputs(model: nn.Module, x: Tensor, outputs: str) -> int:
    """The number of outputs, from a few rows; SpecError where the outputs are not of the promised kind.

    A row's outputs must be the same in a second call, and the same without the other rows.
    """
    rows = probe_rows(x)
    answer = _answer(model, rows.clone())
    if not _close(answer, _answer(model, rows.clone()), _largest(answer)):
        raise SpecError(
            "the model answers the same rows differently when it is asked again, in evaluation mode: it draws random "
            "numbers (dropout that is always on?) or remembers earlier calls. Give one that does neither."
        )
    for index in (0, len(rows) - 1):  # the last one, too: a batch read as a sequence changes all answers but the first
        _check_alone(model, rows[index : index + 1], answer[index : index + 1], _largest(answer))
    answer = answer[: len(x)]  # without the row that was added
    if bool(answer.isnan().any()):
        raise SpecError(f"the model answers with NaN for {int(answer.isnan().any(dim=1).sum())} of {len(answer)} rows.")
    if outputs == "probabilities" and not are_probabilities(answer, SLACK):
        in_range = bool(((answer >= 0) & (answer <= 1)).all())
        hint = (
            "each is a probability by itself (a sigmoid's?): outputs='value' explains one of them."
            if in_range
            else "are they logits?"
        )
        raise SpecError(f"the model's answers are not probabilities (at least 0, adding up to 1): {hint}")
    if outputs == "logits" and answer.shape[1] > 1 and are_probabilities(answer, EXACT) and has_softmax(model, x):
        raise SpecError(
            "the model's answers are probabilities (at least 0, adding up to 1), and logits were promised: give "
            "outputs='probabilities' (--outputs probabilities), or the model without its softmax."
        )
    return int(answer.shape[1])


def are_probabilities(answer: Tensor, slack: float) -> bool:
    """Whether all numbers are at least 0 and every row adds up to 1."""
    errors = (answer.double().sum(dim=1) - 1).abs()
    tolerance = max(slack, min(answer.shape[1] * torch.finfo(answer.dtype).eps, HALF_SLACK))
    return not bool((answer < 0).any()) and bool((errors <= tolerance).all())


def has_softmax(model: Callable[[Tensor], Any], x: Tensor) -> bool:
    """Whether outputs are probabilities at other points, too: logits may add up to 1 on rows that do so themselves."""
    rows = x[:ROWS]
    try:
        return all(are_probabilities(_answer(model, points), EXACT) for points in (3 * rows, torch.zeros_like(rows)))
    except SpecError:  # the model cannot read these points
        return True


def check_equal_models(name: str, first: nn.Module, second: nn.Module, x: Tensor) -> None:
    """SpecError where two models that should be the same differ in weights or in outputs."""
    problem = f"{name} makes another model every time"
    left, right = first.state_dict(), second.state_dict()
    if left.keys() != right.keys() or not all(torch.equal(left[key], right[key]) for key in left):
        raise SpecError(f"{problem}: give its weights as a file.")
    if not torch.equal(_answer(first, x[:ROWS].clone()), _answer(second, x[:ROWS].clone())):
        raise SpecError(
            f"{problem}: it draws numbers that its state_dict does not hold. Draw them with a seed of their own."
        )


def probe_rows(x: Tensor) -> Tensor:
    """The first rows; if all are equal, with a different one added."""
    rows = x[:ROWS]
    return rows if bool((rows != rows[:1]).any()) else torch.cat([rows, _different_row(rows[:1])])


def _different_row(row: Tensor) -> Tensor:
    """A different row that the model should be able to read: half of this one, or ones instead of zeros."""
    return row / 2 if bool(row.any()) else torch.ones_like(row)


def _answer(model: Callable[[Tensor], Any], rows: Tensor) -> Tensor:
    try:
        with torch.no_grad():
            answer = model(rows)
    except Exception as error:
        shape = f"{tuple(rows.shape[1:])}, {rows.dtype}"
        raise SpecError(f"the model cannot read rows of shape {shape}: {one_line(error)}.") from error
    fits = isinstance(answer, Tensor) and answer.dim() == 2 and len(answer) == len(rows) and answer.shape[1] > 0
    if not fits:
        shape = str(tuple(answer.shape)) if isinstance(answer, Tensor) else type(answer).__name__
        raise SpecError(
            f"the model answers a batch of {len(rows)} with {shape}: a tensor (rows, outputs) is needed; for one value "
            "per row, (rows, 1)."
        )
    if not answer.is_floating_point():
        raise SpecError(f"the model answers with {dtype_name(answer.dtype)}: floating point numbers are needed.")
    return answer.cpu()  # type: ignore[no-any-return]


def _check_alone(model: nn.Module, row: Tensor, in_batch: Tensor, largest: float) -> None:
    """SpecError where a row's outputs in a batch depend on the other rows."""
    cause = "it mixes the rows of a batch, as batch normalisation without running statistics does"
    try:
        alone = _answer(model, row.clone())
    except SpecError as error:
        if error.__cause__ is None:  # the answer has an unusable shape
            raise
        raise SpecError(
            f"the model cannot answer a row alone, only in a batch: {cause} ({one_line(error.__cause__)})."
        ) from None
    if not _close(in_batch, alone, largest):
        difference = float((in_batch.double() - alone.double()).abs().max()) / max(largest, 1e-30)
        raise SpecError(
            f"the model's outputs for a row alone differ from those in a batch ({difference:.1e} of the largest): "
            f"{cause}, or its numbers are too large for {dtype_name(alone.dtype)}."
        )


def _close(left: Tensor, right: Tensor, largest: float) -> bool:
    """Equal up to rounding, relative to the largest output."""
    tolerance = max(ROUNDING, 8 * torch.finfo(left.dtype).eps) * largest
    same_shape = left.shape == right.shape
    return same_shape and torch.allclose(left.double(), right.double(), rtol=0, atol=tolerance, equal_nan=True)


def _largest(answer: Tensor) -> float:
    return float(torch.where(answer.isfinite(), answer.abs(), 0).max())


def _clone_inputs(_module: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(value.clone() if isinstance(value, Tensor) else value for value in inputs)
