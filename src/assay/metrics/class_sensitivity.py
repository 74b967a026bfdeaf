"""Class sensitivity: how much the map depends on the explained class."""

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
from assay.metrics._similar import similarity


@dataclass(frozen=True)
class ClassSensitivity:
    """Similarity between the attribution of the target and the attribution of another class of the same sample.

    A method that returns the same map for every class scores 1. The other class is the least likely one according to
    the model, or the most likely one except the target. Maps are compared feature by feature, by rank correlation or
    cosine. Undefined where one of the two maps is constant (zero, for the cosine). If two classes have opposite scores,
    correct maps have equal sizes: compare signed maps.
    """

    other: Literal["least", "most"] = "least"  # which class: the least likely, or the most likely except the target
    by: Literal["spearman", "cosine"] = "spearman"  # similarity of two maps: rank correlation, or cosine
    absolute: bool = True  # compare absolute values; otherwise signed ones, where a negated map is the least similar

    higher_is_better: ClassVar[bool] = False
    range: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    ideal: ClassVar[float] = 0.0
    needs: ClassVar[tuple[str, ...]] = ("model", "method")
    cost: ClassVar[str] = "one more attribution"
    invariant: ClassVar[tuple[str, ...]] = ("scale",)  # not monotone: a power changes which values tie by rounding
    exact_on_linear: ClassVar[bool] = False
    paper: ClassVar[str] = "When Explanations Lie (Sixt et al., 2020), the random logit; choices of class ours"

    def probe(self, scene: Scene) -> dict[str, Tensor]:
        """The other class (B,)."""
        query = scene.ask(Question(readout="value"))
        outputs = query.outputs(query.x)
        if outputs.shape[1] < 2:
            raise NotApplicable("needs at least two classes, and this model has one output")
        is_target = torch.nn.functional.one_hot(scene.target, outputs.shape[1]).bool()
        if self.other == "least":
            return {"other": outputs.masked_fill(is_target, torch.inf).argmin(dim=1)}
        return {"other": outputs.masked_fill(is_target, -torch.inf).argmax(dim=1)}

    def __call__(self, trial: Trial) -> Evidence:
        other = (trial.probe or self.probe(trial.scene))["other"]
        again = per_feature(trial.again(target=other), trial.scene.setting.features)
        value, defined = similarity(trial.map.flatten(1), again.flatten(1), self.by, self.absolute)
        return rows(value=value, defined=defined)
