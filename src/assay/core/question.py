"""The question put to a method: which number of the model is explained, against what.

Torch-free: it is part of an artifact's key and can be set per method in a study. A field that is ``None`` means
"as the environment asks it"; ``over`` fills it in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from assay.core.errors import SpecError, suggest

READOUTS = ("logit", "probability", "margin", "value")
TARGETS = ("label", "predicted")
BASELINES = ("zero", "true", "mean")


@dataclass(frozen=True)
class Question:
    """What is asked about a sample."""

    readout: str | None = None  # logit, probability, margin, value
    temperature: float | None = None  # logits are divided by it before the softmax
    baseline: str | float | None = (
        None  # zero, true (the environment's own background), mean (of the reference), a number
    )
    target: str | None = None  # label: the sample's class; predicted: the model's

    def over(self, default: Question) -> Question:
        """This question, with what it leaves open answered by ``default``."""
        given = {name: value for name, value in asdict(self).items() if value is not None}
        return Question(**{**asdict(default), **given})

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> Question:
        """Read from a study file; SpecError names what does not fit."""
        known = [f.name for f in fields(cls)]
        for name in table:
            if name not in known:
                raise SpecError(f"unknown question field '{name}'.{suggest(name, known)} Known: {', '.join(known)}.")
        question = cls(**table)
        question.check()
        return question

    def check(self) -> None:
        _one_of("readout", self.readout, READOUTS)
        _one_of("target", self.target, TARGETS)
        if isinstance(self.baseline, str):
            _one_of("baseline", self.baseline, BASELINES)
        if self.temperature is not None and not self.temperature > 0:
            raise SpecError(f"temperature must be positive, not {self.temperature!r}.")


def _one_of(field: str, value: str | None, known: tuple[str, ...]) -> None:
    if value is not None and value not in known:
        raise SpecError(f"{field} '{value}' is unknown.{suggest(str(value), known)} Known: {', '.join(known)}.")
