"""Whether a model is right without a part of the input, and guesses from it alone (Zhang et al., 2024)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from assay.core.errors import NotApplicable, SpecError
from assay.core.evidence import Evidence, Score
from assay.core.question import Question
from assay.core.trial import Scene, Trial
from assay.metrics._parts import only, part_of
from assay.metrics._removal import classifies, correctness
from assay.metrics._rows import rows


@dataclass(frozen=True)
class IgnoresPart:
    """1 for a model that is right with and without a part of the input and guesses from that part alone, else 0.

    Right: accuracy over the set is at least ``least``. Guesses: accuracy is within ``tolerance`` of 1 / classes, so
    give equally many samples of each class. The paper tells of one network with 100 %, 100 % and 50 %; both limits are
    ours. What is left out gets the environment's baseline. One answer per model: the score over seeds is the share of
    models, with Clopper and Pearson's interval.

    Accuracy reads the largest output only: a part that is ignored by this rule may still move outputs, as
    ``part_share(of='model')`` measures. Says nothing about the attribution: it is the same for every method. Undefined
    for samples where an output is not finite.
    """

    part: str = "centre"  # which part, where an environment names parts
    least: float = 0.99  # accuracy of a model that is right
    tolerance: float = 0.1  # around chance

    higher_is_better: ClassVar[bool] = True
    about: ClassVar[str] = "models"  # a method is not better for it
    yes_or_no: ClassVar[bool] = True
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    ideal: ClassVar[float] = 1.0
    needs: ClassVar[tuple[str, ...]] = ("model", "label", "parts")
    invariant: ClassVar[tuple[str, ...]] = ("scale", "shift", "monotone")
    exact_on_linear: ClassVar[bool] = False
    cost: ClassVar[str] = "3 model rows a sample, shared by all methods"
    paper: ClassVar[str] = "AttributionLab (Zhang et al., 2024), appendix A"

    def __post_init__(self) -> None:
        if not 0 <= self.least <= 1 or not 0 <= self.tolerance < 1:
            raise SpecError(
                f"ignores_part: least={self.least} and tolerance={self.tolerance} must be shares, 0 to 1 and below 1."
            )

    def probe(self, scene: Scene) -> dict[str, Tensor]:
        """Whether each sample is predicted correctly (B,): complete, without the part, and the part alone."""
        part, x = part_of(scene.setting, self.part), scene.samples.x
        if not classifies(scene):
            raise NotApplicable("needs a classifier, and this model answers with a value")
        query = scene.ask(Question("value"), baseline="zero")
        read = correctness(query, scene.samples.label)
        shown = {"complete": x, "without": only(scene.setting, ~part, x), "alone": only(scene.setting, part, x)}
        classes = query.outputs(x[:1]).shape[-1]
        return {**{name: read(points) for name, points in shown.items()}, "chance": torch.full((len(x),), 1 / classes)}

    def __call__(self, trial: Trial) -> Evidence:
        probe = trial.probe or self.probe(trial.scene)
        defined = torch.stack([*probe.values()]).isfinite().all(dim=0)
        return rows(**{name: tensor.where(defined, 0.0) for name, tensor in probe.items()}, defined=defined)

    def reduce(self, evidence: Evidence) -> Score:
        """The rule, over the defined samples."""
        defined = evidence.defined
        if not defined.any():
            return Score(None, len(evidence), 0)
        mean = {name: float(evidence[name][defined].mean(dtype=np.float64)) for name in evidence.rows}
        right = min(mean["complete"], mean["without"]) >= self.least
        guesses = abs(mean["alone"] - mean["chance"]) <= self.tolerance
        return Score(float(right and guesses), len(evidence), int(defined.sum()))
