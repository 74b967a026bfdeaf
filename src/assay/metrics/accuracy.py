"""The accuracy of the model, its sibling, the rule that drew the labels, or of giving the most frequent label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from assay.core.errors import NotApplicable
from assay.core.evidence import Evidence
from assay.core.question import Question
from assay.core.trial import Scene, Trial
from assay.metrics._parts import only, part_of
from assay.metrics._removal import classifies, correctness
from assay.metrics._rows import rows
from assay.metrics._sibling import sibling_scene


@dataclass(frozen=True)
class Accuracy:
    """1 where the class with the highest output is the label, else 0.

    ``of='sibling'`` asks the other model for the same samples: the one before retraining, for example. Guessing reaches
    1 / classes where these are equally frequent. ``of='rule'`` asks the scores without noise by which the labels were
    drawn: what no model can exceed by more than chance. A model below it has errors that are not label noise.
    ``of='majority'`` always answers with the label that most reference rows have: a model below it is worse than one
    that reads no input. On training rows every sample has the same value, the share of all of them. ``keep`` shows one
    part of each input alone: all outside of it gets the environment's baseline. Says nothing about the attribution: it
    is the same for every method.
    Undefined where an output is not finite.
    """

    of: Literal["model", "sibling", "rule", "majority"] = "model"  # who answers; majority: the most frequent label
    on: Literal["samples", "training"] = "samples"  # the evaluated samples, or the reference rows
    keep: str = ""  # the only part that is shown, where an environment names parts; empty: complete inputs

    higher_is_better: ClassVar[bool] = True
    about: ClassVar[str] = "models"  # a method is not better for it
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    ideal: ClassVar[float] = 1.0
    needs: ClassVar[tuple[str, ...]] = ("model", "label")
    invariant: ClassVar[tuple[str, ...]] = ("scale", "shift", "monotone")
    exact_on_linear: ClassVar[bool] = False
    cost: ClassVar[str] = "1 model row a sample or a reference row, shared by all methods"
    paper: ClassVar[str] = "AGOP-IxG (Katakam, 2026), section 4.4; arXiv:2605.15700"

    def probe(self, scene: Scene) -> dict[str, Tensor]:
        """Whether each sample is predicted correctly (B,)."""
        if self.on == "samples":
            return {"correct": self._correct(scene, scene.samples.x, scene.samples.label)}
        reference = scene.setting.reference
        if reference is None:
            raise NotApplicable("on='training' needs reference rows, and this environment has none")
        return {"correct": self._correct(scene, reference.x, reference.label).mean().expand(len(scene.samples)).clone()}

    def __call__(self, trial: Trial) -> Evidence:
        correct = (trial.probe or self.probe(trial.scene))["correct"]
        defined = correct.isfinite()
        return rows(value=correct.where(defined, 0.0), defined=defined)

    def _correct(self, scene: Scene, x: Tensor, label: Tensor) -> Tensor:
        """(N,): 1 or 0, NaN where there is no finite answer."""
        if self.keep:
            x = only(scene.setting, part_of(scene.setting, self.keep), x)
        if self.of == "sibling":
            scene = sibling_scene(scene)
        if self.of in ("model", "sibling"):
            if not classifies(scene):
                raise NotApplicable("needs a classifier, and this model answers with a value")
            return correctness(scene.ask(Question("value"), baseline="zero"), label)(x)
        if self.of == "majority":
            if scene.setting.reference is None:
                raise NotApplicable("of='majority' needs reference rows, and this environment has none")
            return (label == scene.setting.reference.label.mode().values).double()
        if scene.setting.rule is None:
            raise NotApplicable("of='rule' needs a known rule that drew the labels, and this environment has none")
        scores = scene.setting.rule(x)
        return (scores.argmax(dim=1) == label).double().where(scores.isfinite().all(dim=1), torch.nan)
