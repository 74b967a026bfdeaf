"""What the numbers of an answer are: logits, probabilities or values, and when one number stands for two classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from assay.core.errors import SpecError
from assay.foreign import models
from assay.users.taken import Outputs

FAR = 100.0  # times a row: an output that is between 0 and 1 there, too, is a probability
ONE = "the model answers with one number per row"
AS_VALUE = "outputs='value' (--outputs value) explains the number as it is"


@dataclass(frozen=True)
class Meaning:
    """What the outputs are. One that stands for two classes becomes two: a logit z (-z/2, z/2), whose difference is z,
    a probability p (1 - p, p)."""

    outputs: Outputs
    is_pair: bool = False
    words: str = ""  # about what was chosen

    def __call__(self, answer: Tensor) -> Tensor:
        if not self.is_pair:
            return answer
        if self.outputs == "logits":
            return answer * answer.new_tensor([-0.5, 0.5])
        return torch.cat([1 - answer, answer], dim=1)


@dataclass(frozen=True, eq=False)
class Hints:
    """From what follows what outputs are, where the user does not say."""

    label: NDArray[Any] | None  # the user's
    default: Outputs | None  # what the kind of model usually answers with; None: no kind is usual
    has_sigmoid: bool = False  # whether the model ends in one


def meaning(ask: Callable[[Tensor], Tensor], x: Tensor, outputs: Outputs | None, hints: Hints) -> Meaning:
    """What the answers (rows, outputs) of ``ask`` are."""
    answer = ask(x)
    if answer.shape[1] == 1:
        return _of_one(ask, x, outputs, hints)
    if outputs or hints.default:
        return Meaning(outputs or hints.default)  # type: ignore[arg-type]
    if models.are_probabilities(answer, models.EXACT) and models.has_softmax(ask, x):
        return Meaning("probabilities", words="they are at least 0 and add up to 1")
    raise SpecError(
        f"the model answers with {answer.shape[1]} numbers per row, and what they are does not follow from them: say "
        "outputs='logits', outputs='probabilities' or outputs='value' (--outputs in the shell)."
    )


def _of_one(ask: Callable[[Tensor], Tensor], x: Tensor, outputs: Outputs | None, hints: Hints) -> Meaning:
    if (outputs or hints.default) == "value":
        return Meaning("value")
    is_probability = _is_probability(ask, x, hints.has_sigmoid)
    if outputs is None:
        outputs = "probabilities" if hints.default == "probabilities" else _by_label(is_probability, hints)
    if outputs == "value":
        return Meaning("value")
    if outputs == "logits" and is_probability:
        raise SpecError(
            f"{ONE} that is a probability (0 to 1, also far from your rows), and logits were promised: give "
            "outputs='probabilities' (--outputs probabilities), or the model without its sigmoid."
        )
    if outputs == "probabilities" and not _in_unit(ask(x)):
        raise SpecError(f"{ONE}, and some are no probabilities, below 0 or above 1: are they logits?")
    shown = "z as (-z/2, z/2)" if outputs == "logits" else "p as (1 - p, p)"
    return Meaning(outputs, True, f"its one output {shown}")


def _by_label(is_probability: bool, hints: Hints) -> Outputs:
    label = hints.label
    if label is None:
        if hints.has_sigmoid and is_probability:
            return "probabilities"
        score = "probabilities" if is_probability else "logits"
        raise SpecError(
            f"{ONE}: is it a value, or does it speak for the second of two classes? {AS_VALUE}, outputs='{score}' "
            f"(--outputs {score}) both classes. Labels of 0 and 1 say so, too."
        )
    if label.dtype.kind not in "fiub":
        count = len(np.unique(label.astype(str)))
        if count > 2:
            raise SpecError(f"{ONE}, and label has {count} classes: a number for each of them is needed.")
        raise SpecError(f"{ONE}, and label holds text: write label as 0 and 1, 1 for the class that it is a score of.")
    if np.isin(label, (0, 1)).all():
        return "probabilities" if is_probability else "logits"
    found = np.unique(label)
    if len(found) == 2 and (found == found.round()).all():
        low, high = (f"{value:g}" for value in found)
        raise SpecError(f"{ONE}, and label has two values, {low} and {high}: write classes as 0 and 1. {AS_VALUE}.")
    return "value"


def _is_probability(ask: Callable[[Tensor], Tensor], x: Tensor, has_sigmoid: bool) -> bool:
    """Whether one output is between 0 and 1 wherever it is asked, and not always the same."""
    answer = ask(x)
    if not _in_unit(answer):
        return False
    return has_sigmoid or (bool((answer != answer[:1]).any()) and _in_unit_far_away(ask, x))


def _in_unit_far_away(ask: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    try:
        return all(_in_unit(ask(points)) for points in (FAR * x, -FAR * x, torch.zeros_like(x)))
    except Exception:  # the model cannot read these points
        return True


def _in_unit(answer: Tensor) -> bool:
    return bool(((answer >= 0) & (answer <= 1)).all())
