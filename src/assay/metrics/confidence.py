"""How confident the model is in what it predicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from torch import Tensor

from assay.core.errors import NotApplicable
from assay.core.evidence import Evidence
from assay.core.question import Question
from assay.core.trial import Scene, Trial
from assay.metrics._removal import classifies
from assay.metrics._rows import rows


@dataclass(frozen=True)
class Confidence:
    """The probability of the predicted class, at the environment's temperature.

    A calibrated model is as confident as it is accurate, and less confident where it errs. Says nothing about the
    attribution: it is the same for every method. Undefined for samples that do not count and where an output is not
    finite.
    """

    samples: Literal["all", "correct", "wrong"] = "all"  # which samples count, by the prediction

    higher_is_better: ClassVar[bool] = True
    about: ClassVar[str] = "models"  # a method is not better for it
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    ideal: ClassVar[float] = 1.0
    needs: ClassVar[tuple[str, ...]] = ("model", "label")
    invariant: ClassVar[tuple[str, ...]] = ("scale", "shift", "monotone")
    exact_on_linear: ClassVar[bool] = False
    cost: ClassVar[str] = "1 model row a sample, shared by all methods"
    paper: ClassVar[str] = "AGOP-IxG (Katakam, 2026), section 4.4; arXiv:2605.15700"

    def probe(self, scene: Scene) -> dict[str, Tensor]:
        """The largest probability and whether its class is the label (B,)."""
        if not classifies(scene):
            raise NotApplicable("needs a classifier, and this model answers with a value")
        query = scene.ask(Question("probability"), baseline="zero")
        largest, predicted = query.outputs(query.x).double().max(dim=1)
        return {"confidence": largest, "correct": predicted == scene.samples.label}

    def __call__(self, trial: Trial) -> Evidence:
        probe = trial.probe or self.probe(trial.scene)
        confidence, correct = probe["confidence"], probe["correct"].bool()
        counts = {"all": correct == correct, "correct": correct, "wrong": ~correct}[self.samples]
        defined = counts & confidence.isfinite()
        return rows(value=confidence.where(defined, 0.0).clamp(max=1.0), defined=defined)
