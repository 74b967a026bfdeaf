"""How far attributions of two models are apart (Hesse et al., 2024)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from assay.core.evidence import Evidence
from assay.core.promises import Varies
from assay.core.question import Question
from assay.core.setting import Setting
from assay.core.trial import Trial, per_feature, targets_for
from assay.metrics._rows import rows
from assay.metrics._sibling import sibling_setting

ROUNDING = 4  # units in the last place, of the largest attribution: a map within them is constant


@dataclass(frozen=True)
class AttributionDifference:
    """Mean absolute difference between a method's maps of a model and of its sibling, over features.

    Maps have one number per feature, and each is stretched to 0..1 first: what counts is where they are bright.
    By default each model is asked about the class that it predicts, as a reproduction did: the method is then asked
    again, about this model too where its prediction is not the class of the study. The sibling meets the same samples,
    random numbers and reference rows.

    Undefined where one of the maps is constant and would have to be stretched. In [0, 1] for stretched maps.
    """

    target: Literal["predicted", "asked"] = "predicted"  # each model's own class, or for both the class that was asked
    stretch: bool = True  # every map to 0..1; False: as they are

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
        left, bright = self._map(trial, setting)
        right, other_bright = self._map(trial, sibling_setting(setting))
        difference, defined = (left - right).abs().mean(dim=1), bright & other_bright
        return rows(value=difference.where(defined, 0.0), defined=defined)

    def _map(self, trial: Trial, setting: Setting) -> tuple[Tensor, Tensor]:
        """The map (B, P) of this setting's model, and where there is one to compare (B,)."""
        values = self._values(trial, setting)
        if not self.stretch:
            return values, torch.ones_like(values[:, 0], dtype=torch.bool)
        low, spread = values.amin(dim=1, keepdim=True), _spread(values)
        some = spread > ROUNDING * torch.finfo(trial.attribution.dtype).eps * values.abs().amax(dim=1, keepdim=True)
        return (values - low) / torch.where(some, spread, 1.0), some[:, 0]

    def _values(self, trial: Trial, setting: Setting) -> Tensor:
        """The map as it is: the given one for samples whose class was asked about, else asked for again."""
        given, target = (
            per_feature(trial.attribution.double(), setting.features).flatten(1),
            self._target(trial, setting),
        )
        asked = (target == trial.scene.target) & (setting is trial.scene.setting)
        if bool(asked.all()):
            return given
        again = per_feature(trial.again(target=target, setting=setting).double(), setting.features).flatten(1)
        return torch.where(asked[:, None], given, again)

    def _target(self, trial: Trial, setting: Setting) -> Tensor:
        """The class (B,) that this setting's model is asked about."""
        scene = trial.scene
        if self.target == "asked":
            return scene.target
        return targets_for(setting, Question(target="predicted"), scene.samples, scene.machine)


def _spread(values: Tensor) -> Tensor:
    return values.amax(dim=1, keepdim=True) - values.amin(dim=1, keepdim=True)
