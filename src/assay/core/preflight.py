"""Is this what a model of somebody's and rows of theirs should be? Asked once, before anything is computed."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from assay.core.errors import SpecError

READOUTS = {
    "logits": ("logit", "probability", "margin", "value"),
    "probabilities": ("probability",),
    "value": ("value",),
}
ROWS = 8  # tried
SLACK = 1e-3  # by which probabilities may miss 1


def default_readout(outputs: str, given: str | None) -> str:
    """What is explained unless somebody says so; SpecError where a model with these outputs has no such number."""
    if outputs not in READOUTS:
        raise SpecError(f"outputs='{outputs}': a model answers with {', '.join(READOUTS)}.")
    known = READOUTS[outputs]
    if given is not None and given not in known:
        raise SpecError(f"a model that answers with {outputs} has no readout '{given}': write {' or '.join(known)}.")
    return given or known[0]


def sound_rows(name: str, x: Tensor, like: Tensor | None = None) -> Tensor:
    """Rows of finite floats, and of the shape of others; SpecError says what is wrong with them."""
    if not x.is_floating_point():
        raise SpecError(f"{name} holds {x.dtype}: give floating point numbers, as the model reads them.")
    if len(x) == 0:
        raise SpecError(f"{name} has no rows.")
    if like is not None and x.shape[1:] != like.shape[1:]:
        raise SpecError(f"{name} has rows of shape {tuple(x.shape[1:])}, and x of shape {tuple(like.shape[1:])}.")
    bad = (~x.flatten(1).isfinite().all(dim=1)).nonzero().flatten().tolist()
    if bad:
        told = ", ".join(map(str, bad[:5])) + (", ..." if len(bad) > 5 else "")
        raise SpecError(f"{name} has NaN or infinite values in {len(bad)} of {len(x)} rows: {told}.")
    return x


def outputs_of(model: nn.Module, x: Tensor, outputs: str) -> int:
    """How many outputs the model has, asked about a few rows; SpecError where its answer is not what was said."""
    try:
        with torch.no_grad():
            answer = model(x[:ROWS])
    except Exception as error:
        raise SpecError(
            f"the model cannot read rows of shape {tuple(x.shape[1:])}, {x.dtype}: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(answer, Tensor) or answer.dim() != 2 or len(answer) != len(x[:ROWS]):
        shape = tuple(answer.shape) if isinstance(answer, Tensor) else type(answer).__name__
        raise SpecError(f"the model answers {len(x[:ROWS])} rows with {shape}: a tensor (rows, outputs) is needed.")
    if outputs == "probabilities":
        misses = (answer.sum(dim=1) - 1).abs() > SLACK
        if bool(misses.any()) or bool((answer < 0).any()):
            raise SpecError("the model's answers are no probabilities (at least 0, adding up to 1): are they logits?")
    return int(answer.shape[1])


def sound_classes(name: str, given: Tensor, rows: int, outputs: int) -> Tensor:
    """One class per row, (N,) long; SpecError where these are none of the model's."""
    if given.is_floating_point() and not torch.equal(given, given.round()):
        raise SpecError(f"{name} holds fractions: give whole numbers, the classes.")
    if tuple(given.shape) != (rows,):
        raise SpecError(f"{name} has shape {tuple(given.shape)}: one class per row is needed, ({rows},).")
    wrong = (given < 0) | (given >= outputs)
    if bool(wrong.any()):
        first = int(given[wrong][0])
        raise SpecError(f"{name} holds class {first}, and the model has outputs 0 to {outputs - 1}.")
    return given.long()
