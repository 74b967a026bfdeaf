"""Is this what a model of somebody's should be? Asked once, before anything is computed."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from assay.core.errors import SpecError
from assay.core.given import dtype_name, told
from assay.core.setting import model_copy

READOUTS = {
    "logits": ("logit", "probability", "margin", "value"),
    "probabilities": ("probability",),
    "value": ("value",),
}
ROWS = 8  # tried
SLACK = 1e-3  # by which probabilities may miss 1
HALF_SLACK = 0.05  # at the most, in half precision, where every one of many is rounded
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


def copied(model: nn.Module) -> nn.Module:
    """A copy, to be changed; SpecError where it is no model, or cannot be copied."""
    if not isinstance(model, nn.Module):
        raise SpecError(f"the model is {type(model).__name__}, not a torch.nn.Module: call it in the forward of one.")
    if any(is_lazy(part) for part in (*model.parameters(), *model.buffers())):
        raise SpecError("the model has lazy layers that nobody has called yet: call it once, then give it.")
    try:
        return model_copy(model)
    except Exception as error:
        raise SpecError(f"the model cannot be copied: {told(error)}.") from error


def frozen(model: nn.Module, x: Tensor) -> nn.Module:
    """A copy, frozen and in evaluation mode; where it writes into its input, it is given copies of that."""
    copy = copied(model)
    copy.eval()
    for parameter in copy.parameters():
        parameter.requires_grad_(False)
    rows = _in_company(x)
    given = rows.clone()
    _answer(copy, given)
    if given._version or not torch.equal(given, rows):
        copy.register_forward_pre_hook(_on_copies)
    return copy


def has_gradients(model: nn.Module, x: Tensor) -> bool:
    """Whether answers can be followed back to the rows: not where a forward leaves torch, or turns gradients off."""
    try:
        with torch.enable_grad():
            return bool(model(_in_company(x).detach().clone().requires_grad_()).requires_grad)
    except torch.OutOfMemoryError:
        raise
    except Exception:  # of whatever the forward calls
        return False


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
    if outputs == "probabilities" and not _are_probabilities(answer, SLACK):
        each = bool(((answer >= 0) & (answer <= 1)).all())
        why = (
            "each is one of its own (a sigmoid's?): outputs='value' explains one of them."
            if each
            else "are they logits?"
        )
        raise SpecError(f"the model's answers are no probabilities (at least 0, adding up to 1): {why}")
    if outputs == "logits" and answer.shape[1] > 1 and _are_probabilities(answer, EXACT) and _squashes(model, x):
        raise SpecError(
            "the model's answers are probabilities (at least 0, adding up to 1), and logits were promised: give "
            "outputs='probabilities' (--outputs probabilities), or the model without its softmax."
        )
    return int(answer.shape[1])


def _are_probabilities(answer: Tensor, slack: float) -> bool:
    misses = (answer.double().sum(dim=1) - 1).abs()
    close = max(slack, min(answer.shape[1] * torch.finfo(answer.dtype).eps, HALF_SLACK))
    return not bool((answer < 0).any()) and bool((misses <= close).all())


def _squashes(model: nn.Module, x: Tensor) -> bool:
    """Whether answers are probabilities elsewhere, too: logits may add up to 1 on rows that do so themselves."""
    rows = x[:ROWS]
    try:
        return all(_are_probabilities(_answer(model, points), EXACT) for points in (3 * rows, torch.zeros_like(rows)))
    except SpecError:  # it cannot be asked there
        return True


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


def _in_company(x: Tensor) -> Tensor:
    """The first rows, so that not all are equal: with another one where they are."""
    rows = x[:ROWS]
    return rows if bool((rows != rows[:1]).any()) else torch.cat([rows, _another(rows[:1])])


def _another(row: Tensor) -> Tensor:
    """A row that a model which reads this one can read: half of it."""
    return row / 2 if bool(row.any()) else torch.ones_like(row)


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
        raise SpecError(
            f"the model answers a batch of {len(rows)} with {shape}: a tensor (rows, outputs) is needed; of a single "
            "value per row, (rows, 1)."
        )
    if not answer.is_floating_point():
        raise SpecError(f"the model answers with {dtype_name(answer.dtype)}: floating point numbers are needed.")
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
        apart = float((among.double() - alone.double()).abs().max()) / max(largest, 1e-30)
        raise SpecError(
            f"the model answers a row alone with other numbers than among others ({apart:.1e} of its largest output): "
            f"{why}, or its numbers are too large for {dtype_name(alone.dtype)}."
        )


def _close(left: Tensor, right: Tensor, largest: float) -> bool:
    """Equal up to rounding, which is measured by the largest output."""
    slack = max(ROUNDING, 8 * torch.finfo(left.dtype).eps) * largest
    same = left.shape == right.shape
    return same and torch.allclose(left.double(), right.double(), rtol=0, atol=slack, equal_nan=True)


def _largest(answer: Tensor) -> float:
    return float(torch.where(answer.isfinite(), answer.abs(), 0).max())


def _on_copies(_module: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(part.clone() if isinstance(part, Tensor) else part for part in inputs)
