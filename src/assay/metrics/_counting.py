"""Which samples count."""

from __future__ import annotations

from torch import Tensor

from assay.core.errors import NotApplicable
from assay.core.question import Question
from assay.core.trial import Trial, targets_for
from assay.metrics._removal import classifies


def some_not_all(chosen: Tensor) -> Tensor:
    """Samples (B,) in which some features are chosen (B, P), but not all: others leave nothing to tell apart."""
    return chosen.any(dim=1) & ~chosen.all(dim=1)


def counting_samples(trial: Trial, samples: str) -> Tensor:
    """Samples (B,) that count: all of them, or those whose label the model predicts ("correct")."""
    scene = trial.scene
    label = scene.samples.label
    if samples == "all":
        return label == label
    if not classifies(scene):
        raise NotApplicable("samples='correct' needs a classifier, and this model answers with a value")
    if scene.question.target == "predicted":
        return scene.target == label
    return targets_for(scene.setting, Question(target="predicted"), scene.samples, scene.machine) == label
