"""The question put to a method: which number of the model is explained, against which baseline.

Torch-free: it is part of an artifact's key and can be set per method in a study. ``None`` in a field stands for the
environment's value, which ``over`` fills in.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from assay.core.errors import SpecError, suggest

READOUTS = ("logit", "probability", "margin", "value")
TARGETS = ("label", "predicted")
BASELINES = ("zero", "true", "mean", "uniform")
QUESTION = "question."  # before a field's name, where parameters of a method are named as well


@dataclass(frozen=True)
class Question:
    """What is asked about a sample."""

    readout: str | None = None  # logit, probability, margin, value
    temperature: float | None = None  # logits are divided by it before the softmax
    # zero, true (the environment's own background), mean (of the reference), uniform (noise), a number
    baseline: str | float | None = None
    target: str | None = None  # label: the sample's class; predicted: the model's

    def over(self, default: Question) -> Question:
        """This question; fields that are None come from ``default``."""
        values = {name: value for name, value in vars(self).items() if value is not None}
        return Question(**{**vars(default), **values})

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> Question:
        """Read from a study file; SpecError lists all problems."""
        names = [field.name for field in fields(cls)]
        problems = [_unknown(name, names) for name in table if name not in names]
        problems += [problem for name in names if name in table and (problem := _problem(name, table[name]))]
        if problems:
            raise SpecError(" ".join(problems))
        return cls(**{name: _number(value) for name, value in table.items()})


_CHOICES = {"readout": READOUTS, "target": TARGETS, "baseline": BASELINES}


def _unknown(name: str, names: list[str]) -> str:
    return f"unknown question field '{name}'.{suggest(name, names)} Known: {', '.join(names)}."


def _problem(field: str, value: object) -> str:
    """What is wrong with a field's value, or the empty string."""
    if field in ("baseline", "temperature") and _is_number(value):
        too_low = field == "temperature" and not value > 0  # type: ignore[operator]
        return f"temperature must be positive, not {value!r}." if too_low else ""
    choices = _CHOICES.get(field)
    if choices is None:
        return f"{field} must be a finite number, not {value!r}."
    if isinstance(value, str) and value in choices:
        return ""
    number = " or a finite number" if field == "baseline" else ""
    return f"{field} {value!r} is unknown.{suggest(str(value), choices)} Known: {', '.join(choices)}{number}."


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _number(value: Any) -> Any:
    """A whole number as a float: 2 and 2.0 are the same question, with the same key."""
    return float(value) if _is_number(value) else value
