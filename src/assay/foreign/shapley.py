"""Explainers and explanations of shap: values that, with a base value, add up to a number of the model.

Which number that is decides what the values say, so it is found by adding up, and noted. One number for two classes is
that of one class: its negative explains the other.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from assay.core.errors import NotApplicable
from assay.core.query import Query
from assay.foreign.answers import seeded_streams
from assay.foreign.class_axis import of_target

CALLS = ("shap_values", "explain_row")  # what explainers of this kind have
LOG_ODDS = "log-odds"
TOLERANCE = 1e-3  # relative to the largest number, at least 1


@dataclass(frozen=True)
class ShapMethod:
    """An explainer that is bound to its own model, and asked for rows in the form that the user's data has."""

    wrapped: Any
    params: Mapping[str, Any] = field(default_factory=dict)

    bound: ClassVar[bool] = True  # it explains no other model

    def __call__(self, query: Query) -> Tensor:
        rows = query.x.clone() if _reads_tensors(self.wrapped) else _rows_as_given(query)
        with seeded_streams(query):
            values, base = self._ask(rows)
        return explained(values, base, query)

    def _ask(self, rows: Any) -> tuple[Any, Any]:
        """The values, and the base values where it says them."""
        explainer = self.wrapped
        expected = getattr(explainer, "expected_value", None)
        if not callable(explainer):
            return explainer.shap_values(rows, **self.params), expected
        quiet = {"silent": True} if "silent" in inspect.signature(explainer).parameters else {}
        answer = explainer(rows, **{**quiet, **self.params})
        base = getattr(answer, "base_values", None)
        return getattr(answer, "values", answer), expected if base is None else base


def explained(values: Any, base: Any, query: Query) -> Tensor:
    """The values (B, ...) for the explained class. A list has values by class, as shap returned them until 0.45."""
    numbers = _tensor(np.stack(values, axis=-1) if isinstance(values, list) else values, query)
    of_class = of_target(numbers, query)
    if base is None:
        query.note("states no base value, so that it cannot be seen which number it explains")
        return of_class
    by_class = of_class.dim() < numbers.dim() and numbers.shape[-1] > 1
    sums = numbers.flatten(1, -2).sum(dim=1) if by_class else numbers.flatten(1).sum(dim=1)
    start = _tensor(base, query)
    total = sums + (start if by_class else start.reshape(-1))  # one for all rows, or one per row
    raw = replace(query, question=replace(query.question, readout="value")).outputs(query.x).double()
    if by_class or raw.shape[1] == 1:
        _note(query, _whole(total.view_as(raw), raw, query.setting.outputs), raw.shape[1])
        return of_class
    return of_class * _signs(total, raw, query).view(-1, *[1] * (of_class.dim() - 1))


def _tensor(numbers: Any, query: Query) -> Tensor:
    plain = numbers if isinstance(numbers, Tensor) else torch.from_numpy(np.array(numbers, dtype=np.float64))
    return plain.detach().to(query.x.device, torch.float64)


def _whole(total: Tensor, raw: Tensor, outputs: str) -> str | None:
    """The name of the numbers, one per class, that the values add up to."""
    return next((name for name, sums, numbers in _readings(total, raw, outputs) if _close(sums, numbers)), None)


def _signs(total: Tensor, raw: Tensor, query: Query) -> Tensor:
    """1 for the rows whose class the one number belongs to, -1 for those of the other of two classes."""
    count, outputs = raw.shape[1], query.setting.outputs
    for name, sums, numbers in _readings(total, raw, outputs):
        for index in reversed(range(count)):  # of two classes shap explains the second
            if _close(sums, numbers[:, index]):
                _note(query, name, count)
                same = query.target == index
                if not bool(same.all()) and (count > 2 or name not in ("probability", LOG_ODDS)):
                    raise NotApplicable(f"explains class {index} only, and other classes were asked about")
                return torch.where(same, 1.0, -1.0).double()
    raise NotApplicable(
        f"returns one number per feature for {count} classes, and with its base value they add up to none of the "
        "model's numbers: it is not clear which class it explains, or it was made for another model"
    )


def _readings(total: Tensor, raw: Tensor, outputs: str) -> Iterator[tuple[str, Tensor, Tensor]]:
    """What sums may be: the name of a number, the sums in its scale, and the model's numbers by class."""
    if outputs != "probabilities":
        yield ("logit" if outputs == "logits" else "value"), total, raw
    if outputs != "value":
        probability = raw.softmax(dim=1) if outputs == "logits" else raw
        yield "probability", total, probability
        yield LOG_ODDS, total.sigmoid(), probability
        if total.dim() > 1:
            yield LOG_ODDS, total.softmax(dim=1), probability


def _note(query: Query, name: str | None, count: int) -> None:
    readout = str(query.question.readout)
    if name is None:
        query.note("adds up to none of the model's numbers: was it made for this model?")
    elif name == readout or (name == LOG_ODDS and readout == "margin" and count == 2):
        query.note(f"adds up to the {name}")
    else:
        query.note(f"adds up to the {name}, and the question is about the {readout}")


def _close(sums: Tensor, numbers: Tensor) -> bool:
    return bool((sums - numbers).abs().max() <= TOLERANCE * max(1.0, float(numbers.abs().max())))


def _rows_as_given(query: Query) -> Any:
    """In the form of the user's data: a frame where columns have names."""
    setting, names = query.setting, getattr(query.setting.features, "names", ())
    if setting.given is not None:
        return setting.given(query.x.clone())
    rows = query.x.detach().cpu().numpy().copy()
    if not names or rows.ndim != 2:
        return rows
    return import_module("pandas").DataFrame(rows, columns=list(names))  # imported here: slow, and rarely needed


def _reads_tensors(explainer: Any) -> bool:
    """Whether the model inside is a torch module."""
    inside = (explainer, getattr(explainer, "explainer", None))
    return any(isinstance(getattr(one, "model", None), nn.Module) for one in inside)
