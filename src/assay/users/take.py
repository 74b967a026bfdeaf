"""Takes a user's model, whatever it is: one batch of rows is tried, and a sentence says what was chosen."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from numbers import Number
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from assay.core.errors import SpecError
from assay.foreign import models
from assay.users.answers import Name, Pick, as_tensor, choose
from assay.users.estimators import as_estimator, class_names, is_estimator, reads_missing
from assay.users.hugging_face import names_of_classes, text_way, unpacked
from assay.users.outputs import Hints, Meaning, meaning
from assay.users.passing import (
    Forward,
    Way,
    as_tensor_if_equal,
    first_that_works,
    forward_ways,
    function_ways,
    itself,
    module_ways,
    number_format,
)
from assay.users.rows import Rows
from assay.users.taken import Outputs, Taken

MOST_NAMES = 6  # of classes in a sentence


class Adapted(nn.Module):
    """A user's model with what stands around it: how rows reach it, which of its outputs counts, what that is."""

    def __init__(self, model: Callable[..., Any], way: Way, pick: Pick = Pick(), sense: Meaning | None = None) -> None:
        super().__init__()
        self.model, self.way, self.pick, self.sense = model, way, pick, sense
        self.eval()

    def forward(self, x: Tensor) -> Tensor:
        answer = self.pick(self.way(self.model, x)).to(x)
        return answer if self.sense is None else self.sense(answer)


@dataclass(frozen=True, eq=False)
class _Tried:
    """A model that answered rows, in a way that is known."""

    model: Callable[..., Any]
    way: Way
    answer: Any
    default: Outputs | None  # what it answers with where the user does not say
    classes: tuple[str, ...] = ()
    asked: str = ""  # by which of its functions
    notes: tuple[str, ...] = ()

    @property
    def has_sigmoid(self) -> bool:
        modules = list(self.model.modules()) if isinstance(self.model, nn.Module) else []
        return bool(modules) and isinstance(modules[-1], nn.Sigmoid)


def take_model(
    model: Any,
    rows: Rows,
    *,
    outputs: str | None = None,
    output: Name | None = None,
    forward: Forward | None = None,
) -> Taken:
    """A user's model as a module that reads entries, checked: a frozen copy in evaluation mode.

    ``outputs`` says what it answers with: logits, probabilities or value. ``output`` names one of several tensors, by
    name or position. ``forward(model, rows)`` asks the model where nothing else does; rows are as the user gave them.
    """
    models.default_readout(outputs or "logits", None)  # refuses other words
    tried = _tried(model, rows, outputs, forward)  # type: ignore[arg-type]
    pick, chosen = choose(tried.answer, output, len(models.probe_rows(rows.x)))
    module, sense = _with_sense(tried, pick, rows, outputs)  # type: ignore[arg-type]
    count = models.count_outputs(models.guarded(module, rows.x), rows.x, sense.outputs)
    classes = tried.classes or names_of_classes(tried.model, count)
    classes = classes if len(classes) == count and sense.outputs != "value" else ()
    way = f"rows reach it {tried.way.words}" if tried.way.words else ""
    line = "; ".join(part for part in (_answer_words(sense, count, classes), tried.asked, chosen, way) if part)
    return Taken(module, sense.outputs, count, classes, (f"The model answers with {line}.", *tried.notes))


def _with_sense(tried: _Tried, pick: Pick, rows: Rows, outputs: Outputs | None) -> tuple[nn.Module, Meaning]:
    """The module that answers with (rows, outputs), and what these are. The model itself where it does so."""
    adapted, x = Adapted(tried.model, tried.way, pick), models.probe_rows(rows.x)

    def ask(points: Tensor) -> Tensor:
        with torch.no_grad():
            return adapted(points.clone())  # type: ignore[no-any-return]

    sense = meaning(ask, x, outputs, Hints(rows.label, tried.default, tried.has_sigmoid))
    is_whole = isinstance(tried.answer, Tensor) and tried.answer.dim() == 2 and pick.output is None
    if isinstance(tried.model, nn.Module) and tried.way.is_plain and is_whole and not sense.is_pair:
        return tried.model, sense
    return Adapted(tried.model, tried.way, pick, sense), sense


def _answer_words(sense: Meaning, count: int, classes: tuple[str, ...]) -> str:
    if sense.outputs == "value":
        return "a value" if count == 1 else f"{count} values"
    shown = ", ".join(classes[:MOST_NAMES]) + (", ..." if len(classes) > MOST_NAMES else "")
    words = f"{sense.outputs} of {count} classes" + (f" ({shown})" if classes else "")
    return f"{words}, {sense.words}" if sense.words else words


def check_not_swapped(model: Any, x: Any) -> None:
    """SpecError where the model stands in the place of the rows."""
    if _is_data(model) and (isinstance(x, nn.Module) or is_estimator(x) or callable(x)):
        raise SpecError(
            f"the model is {type(model).__name__} and x is {type(x).__name__}: they are swapped. Give the model first, "
            "then its rows."
        )


def makes_models(attribute: Any) -> bool:
    """Whether what ``module:attr`` names is a function or a class that makes a model when it is called without
    arguments, and is no model itself."""
    if isinstance(attribute, nn.Module) or is_estimator(attribute) or not callable(attribute):
        return False
    try:
        parameters = inspect.signature(attribute).parameters.values()
    except (TypeError, ValueError):  # of compiled code
        return isinstance(attribute, type)
    needed = [
        one for one in parameters if one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    ]
    return isinstance(attribute, type) or not needed


def takes_missing(model: Any, given: Any) -> bool:
    """Whether a model answers a few rows with missing numbers, as the user gave them, with finite numbers."""
    model, _ = unpacked(model)
    if is_estimator(model):
        return reads_missing(model, given)
    if not callable(model):
        return False
    try:
        asked = models.frozen(models.checked_copy(model)) if isinstance(model, nn.Module) else model
        rows = as_tensor(given).to(number_format(model)) if isinstance(model, nn.Module) else given
        with torch.no_grad():
            answer = asked(rows)
        pick, _ = choose(answer, None, len(given))
        return bool(pick(answer).isfinite().all())
    except Exception:  # of any code that the model calls
        return False


def _tried(model: Any, rows: Rows, outputs: Outputs | None, forward: Forward | None) -> _Tried:
    model, tokenizer = unpacked(model)
    if isinstance(model, type):
        raise SpecError(f"the model is the class {model.__name__}: give one that was made, with weights or fitted.")
    if isinstance(model, nn.Module):
        return _module(model, rows, forward, tokenizer)
    if is_estimator(model) and forward is None:
        return _estimator(model, rows, outputs)
    if not callable(model) and forward is None:
        raise SpecError(
            f"the model is {type(model).__name__}, not a torch.nn.Module and no estimator, and it cannot be called: "
            "forward=lambda model, x: ... says how it answers."
        )
    return _function(model, rows, forward)


def _module(model: nn.Module, rows: Rows, forward: Forward | None, tokenizer: Any) -> _Tried:
    copy = models.frozen(models.checked_copy(model))
    ways = module_ways(copy, rows)
    if forward is not None:
        ways = forward_ways(forward, rows)
    elif tokenizer is not None:
        ways = iter([text_way(tokenizer, rows)])
    way, answer = first_that_works(copy, ways, models.probe_rows(rows.x))
    notes = ("The model was in training mode; a copy in evaluation mode is asked.",) if model.training else ()
    return _Tried(copy, way, answer, "logits", notes=notes)


def _function(model: Any, rows: Rows, forward: Forward | None) -> _Tried:
    x, asked = models.probe_rows(rows.x), _shared(model if forward is None else partial(forward, model))
    way, answer = first_that_works(asked, function_ways(rows, by_name=forward is None), x)
    return _Tried(asked, *as_tensor_if_equal(asked, way, answer, x), None)


def _shared(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function, which copies of a module share: what it holds may have no copy."""
    return lambda *rows, **named: function(*rows, **named)


def _estimator(model: Any, rows: Rows, outputs: Outputs | None) -> _Tried:
    module, words = as_estimator(model, rows, outputs)
    copy, x = models.checked_copy(module), models.probe_rows(rows.x)
    answer = copy(x)
    if not torch.equal(answer, module(x)):
        raise SpecError(
            f"a copy of {type(model).__name__} answers otherwise than the model: give one that can be copied."
        )
    is_softmax = module.kind == "value" and answer.shape[1] > 1 and models.are_probabilities(answer, models.EXACT)
    default = None if is_softmax else module.kind
    asked = "margins" if module.answer == "decision_function" and hasattr(module.estimator, "trees") else module.answer
    return _Tried(copy, Way(itself, words), answer, default, class_names(module.estimator), f"by its {asked}")


def _is_data(value: Any) -> bool:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return bool(value) and all(isinstance(part, str | Number) or _is_data(part) for part in value)
    return isinstance(value, Tensor | np.ndarray) or (hasattr(value, "to_numpy") and not callable(value))
