"""The difference between the attributions of two models (Hesse et al., 2024)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from assay.core.evidence import Evidence
from assay.core.facts import Varies
from assay.core.question import Question
from assay.core.setting import Setting
from assay.core.trial import Trial, per_feature, targets_for
from assay.metrics._rows import rows
from assay.metrics._sibling import sibling_setting

ROUNDING = 4  # units in the last place of the largest attribution: a map whose values differ by less is constant


@dataclass(frozen=True)
class AttributionDifference:
    """Mean absolute difference between a method's maps of a model and of its sibling, over features.

    Maps have one number per feature. Each map is first stretched to 0..1, so that only the position of its high values
    counts. By default each model explains the class that it predicts, as a reproduction did. The method is then asked
    again for the sibling, and also for the model where its prediction is not the target of the study. The sibling gets
    the same samples, random numbers and reference rows.

    Undefined where a map to be stretched is constant. In [0, 1] for stretched maps.
    """

    target: Literal["predicted", "asked"] = "predicted"  # each model's prediction, or the study's target
    stretch: bool = True  # stretch every map to 0..1

    higher_is_better: ClassVar[bool] = False
    about: ClassVar[str] = "models"  # a method is not better for it
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    ideal: ClassVar[float] = 0.0
    needs: ClassVar[tuple[str, ...]] = ("method", "sibling")
    cost: ClassVar[str] = "one more attribution, and a fit"
    invariant: ClassVar[tuple[str, ...]] = ("scale", "shift")
    varies: ClassVar[Varies] = (
        ("stretch", False, "scale"),
        ("stretch", False, "shift"),
        ("stretch", False, "range"),
    )
    exact_on_linear: ClassVar[bool] = False
    paper: ClassVar[str] = "Benchmarking the Attribution Quality of Vision Models (Hesse et al., 2024)"

    def __call__(self, trial: Trial) -> Evidence:
        setting = trial.scene.setting
        left, map_defined = self._map(trial, setting)
        right, sibling_defined = self._map(trial, sibling_setting(setting))
        difference, defined = (left - right).abs().mean(dim=1), map_defined & sibling_defined
        return rows(value=difference.where(defined, 0.0), defined=defined)

    def _map(self, trial: Trial, setting: Setting) -> tuple[Tensor, Tensor]:
        """The map (B, P) of this setting's model, and where it is defined (B,)."""
        values = self._values(trial, setting)
        if not self.stretch:
            return values, torch.ones_like(values[:, 0], dtype=torch.bool)
        low, spread = values.amin(dim=1, keepdim=True), _spread(values)
        varied = spread > ROUNDING * torch.finfo(trial.attribution.dtype).eps * values.abs().amax(dim=1, keepdim=True)
        return (values - low) / torch.where(varied, spread, 1.0), varied[:, 0]

    def _values(self, trial: Trial, setting: Setting) -> Tensor:
        """The raw map: the trial's own where it explains this class of this model, otherwise a new one."""
        trial_map, target = (
            per_feature(trial.attribution.double(), setting.features).flatten(1),
            self._target(trial, setting),
        )
        reusable = (target == trial.scene.target) & (setting is trial.scene.setting)
        if bool(reusable.all()):
            return trial_map
        new_map = per_feature(trial.again(target=target, setting=setting).double(), setting.features).flatten(1)
        return torch.where(reusable[:, None], trial_map, new_map)

    def _target(self, trial: Trial, setting: Setting) -> Tensor:
        """The class (B,) that is explained for this setting's model."""
        scene = trial.scene
        if self.target == "asked":
            return scene.target
        return targets_for(setting, Question(target="predicted"), scene.samples, scene.machine)


def _spread(values: Tensor) -> Tensor:
    return values.amax(dim=1, keepdim=True) - values.amin(dim=1, keepdim=True)
