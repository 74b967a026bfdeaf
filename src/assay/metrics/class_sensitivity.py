"""Class sensitivity: another class, another map?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from assay.core.errors import NotApplicable
from assay.core.evidence import Evidence
from assay.core.question import Question
from assay.core.trial import Scene, Trial, per_feature
from assay.metrics._rows import rows
from assay.metrics._similar import similar


@dataclass(frozen=True)
class ClassSensitivity:
    """Similarity between the attribution of the target and the attribution of another class of the same sample.

    A method that draws the same picture whatever class it is asked about scores 1. The other class is the one that the
    model finds least likely, or the most likely one but the target. Maps are compared feature by feature: rank
    correlation, or the cosine of their angle. Undefined where one of the two maps is constant (zero, for the cosine).
    With two classes whose scores are the negative of each other, right maps have equal sizes: compare signed ones.
    """

    other: Literal["least", "most"] = "least"  # which class: least likely, or most likely but the target
    by: Literal["spearman", "cosine"] = "spearman"  # how alike two maps are: rank correlation, or cosine
    absolute: bool = True  # compare sizes; otherwise signed values, where a map is least like its negative

    higher_is_better: ClassVar[bool] = False
    range: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    ideal: ClassVar[float] = 0.0
    needs: ClassVar[tuple[str, ...]] = ("model", "method")
    cost: ClassVar[str] = "one more attribution"
    invariant: ClassVar[tuple[str, ...]] = ("scale",)  # numbers that differ by rounding tie, so that powers matter
    exact_on_linear: ClassVar[bool] = False
    paper: ClassVar[str] = "When Explanations Lie (Sixt et al., 2020), the random logit; choices of class ours"

    def probe(self, scene: Scene) -> dict[str, Tensor]:
        """The other class (B,)."""
        query = scene.ask(Question(readout="value"))
        outputs = query.outputs(query.x)
        if outputs.shape[1] < 2:
            raise NotApplicable("needs at least two classes, and this model has one output")
        own = torch.nn.functional.one_hot(scene.target, outputs.shape[1]).bool()
        if self.other == "least":
            return {"other": outputs.masked_fill(own, torch.inf).argmin(dim=1)}
        return {"other": outputs.masked_fill(own, -torch.inf).argmax(dim=1)}

    def __call__(self, trial: Trial) -> Evidence:
        other = (trial.probe or self.probe(trial.scene))["other"]
        again = per_feature(trial.again(target=other), trial.scene.setting.features)
        value, defined = similar(trial.map.flatten(1), again.flatten(1), self.by, self.absolute)
        return rows(value=value, defined=defined)
