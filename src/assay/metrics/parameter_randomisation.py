"""Model parameter randomisation test (Adebayo et al., 2018)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import torch
from torch import Tensor

from assay.core.errors import NotApplicable, SpecError
from assay.core.evidence import Evidence, Score
from assay.core.setting import Setting
from assay.core.trial import Trial, per_feature
from assay.kit.curves import even_counts
from assay.metrics._reinitialise import layer_names, reinitialised
from assay.metrics._rows import rows
from assay.metrics._sets import point_by_point
from assay.metrics._similar import similarity


@dataclass(frozen=True)
class ParameterRandomisation:
    """Similarity between the attribution and the attribution of the same network with random weights.

    Layers are reinitialised from the output on: all down to a depth (cascading), or only the one at that depth. A layer
    is a module with parameters; its depth is its position in the model's list of modules, from the end. New weights are
    those of an untrained layer, as PyTorch fills linear and convolutional ones: uniform within 1 / sqrt(inputs). They
    are the same for all samples, methods and depths. Target, input and baseline stay. Maps are compared feature by
    feature.

    A method that ignores the model scores 1, one whose new map is unrelated to the old one 0. A low score is no proof
    of truth: noise that depends on the model scores 0, too. A depth is undefined where a map is constant there (zero,
    for the cosine), as in a network whose random units are all dead; the value is the mean over the other depths.
    """

    order: Literal["cascading", "independent"] = "cascading"  # all layers down to a depth, or one layer at a time
    depths: int = 8  # at most this many, evenly spaced, each one more attribution; the first layer is always among them
    by: Literal["spearman", "cosine"] = "spearman"  # similarity of two maps: rank correlation, or cosine
    absolute: bool = True  # compare absolute values; otherwise signed ones, where a negated map is the least similar
    at: Literal["mean", "last"] = "mean"  # the value: mean over all depths, or at the last only

    higher_is_better: ClassVar[bool] = False
    range: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    ideal: ClassVar[float] = 0.0
    needs: ClassVar[tuple[str, ...]] = ("model", "method")
    cost: ClassVar[str] = "an attribution, and a fit, for each depth"
    invariant: ClassVar[tuple[str, ...]] = ("scale",)  # not monotone: a power changes which values tie by rounding
    exact_on_linear: ClassVar[bool] = False
    axes: ClassVar[tuple[str, str]] = ("layers from the output", "similarity")
    paper: ClassVar[str] = "Sanity Checks for Saliency Maps (Adebayo et al., 2018)"

    def __post_init__(self) -> None:
        if self.depths < 1:
            raise SpecError(f"parameter_randomisation: depths={self.depths} must be at least 1.")

    def __call__(self, trial: Trial) -> Evidence:
        setting = trial.scene.setting
        names = layer_names(setting.model)[::-1]
        if not names:
            raise NotApplicable("needs a network with parameters, and this model shows none")
        depths = even_counts(len(names), self.depths)[1:]
        comparisons = [self._compare(trial, self._randomised(trial, names, depth)) for depth in depths.tolist()]
        curve, defined = (torch.stack(side, dim=1) for side in zip(*comparisons, strict=True))  # (B, depths)
        if self.at == "last":
            value, count = curve[:, -1], defined[:, -1].long()
        else:
            count = defined.sum(dim=1)
            value = curve.sum(dim=1) / count.clamp(min=1)
        curve, shown = curve * (count > 0)[:, None], defined & (count > 0)[:, None]
        return rows(depths, value=value, defined=count > 0, curve=curve, curve_defined=shown)

    def reduce(self, evidence: Evidence) -> Score:
        """The mean over defined samples; the curve likewise, depth by depth."""
        return point_by_point(evidence)

    def _randomised(self, trial: Trial, names: list[str], depth: int) -> Setting:
        setting = trial.scene.setting
        chosen = names[:depth] if self.order == "cascading" else names[depth - 1 : depth]
        model = reinitialised(setting.model, chosen, lambda name: trial.scene.generator(f"layer {name}"))
        return replace(setting, model=model, forward=None)  # ``forward`` would still have the old weights

    def _compare(self, trial: Trial, setting: Setting) -> tuple[Tensor, Tensor]:
        again = per_feature(trial.again(setting=setting), setting.features)
        return similarity(trial.map.flatten(1), again.flatten(1), self.by, self.absolute)
