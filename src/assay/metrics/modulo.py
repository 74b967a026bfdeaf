"""Deletion, insertion and sensitivity-N where one feature can undo another: count modulo N (Zhang et al., 2024)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from assay.core.errors import NotApplicable
from assay.core.evidence import Evidence, Score
from assay.core.facts import Varies
from assay.core.trial import Trial
from assay.kit.curves import area, cumulative_share, even_counts
from assay.kit.feature_orders import nested_sums, pearson
from assay.metrics._order import feature_order
from assay.metrics._rows import rows
from assay.metrics._sets import nested_sets, point_by_point

POINTS = 64  # steps of the stored curve; the area uses every feature
ROUNDING = 1e-12  # relative: attribution sums closer than this are equal


def binary_truth(trial: Trial) -> Tensor:
    """The truth (B, P), if it consists of zeros and ones."""
    true = trial.effect.flatten(1)
    if not bool(((true == 0) | (true == 1)).all()):
        raise NotApplicable("needs a truth of zeros and ones")
    return true


@dataclass(frozen=True)
class ModuloDeletion:
    """Area under the share of true features left, or inserted, one feature at a time, highest attribution first.

    If the output is a count modulo N, an answer can only be compared with the one before, not with the first: a step
    that changes it has removed, or inserted, a feature that counts. The correct steps are therefore those of true
    features, and no model is needed. Deletion draws the share of true features left; insertion (``direction='insert'``,
    ``modulo_insertion``) the share inserted, which is one minus the other. With w true features of P, deletion is w/2P
    at best and 1 - w/2P at worst; insertion is the other way round. Undefined where no feature is true.
    """

    direction: Literal["delete", "insert"] = "delete"  # draw the true features left, or those inserted
    absolute: bool = True  # rank by absolute attribution: this truth has no sign
    ties: Literal["stable", "random"] = "stable"  # equal attributions: in reading order, or shuffled per sample

    higher_is_better: ClassVar[bool] = False
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    ideal: ClassVar[float] = 0.0
    invariant: ClassVar[tuple[str, ...]] = ("scale", "monotone")
    exact_on_linear: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ("truth",)
    cost: ClassVar[str] = "no model call"
    axes: ClassVar[tuple[str, str]] = ("share of features deleted", "share of true features left")
    varies: ClassVar[Varies] = (
        (
            "direction",
            "insert",
            {
                "higher_is_better": True,
                "ideal": 1.0,
                "axes": ("share of features inserted", "share of true features met"),
            },
        ),
    )
    aliases: ClassVar[tuple[tuple[str, str, object], ...]] = (("modulo_insertion", "direction", "insert"),)
    paper: ClassVar[str] = "AttributionLab (Zhang et al., 2024), appendix F.4"

    def __call__(self, trial: Trial) -> Evidence:
        true = binary_truth(trial)
        defined = true.any(dim=1)
        curve = cumulative_share(true.gather(1, feature_order(trial, self.absolute, self.ties)))  # true features met
        if self.direction == "delete":
            curve = (1 - curve) * defined[:, None]
        share = torch.arange(curve.shape[1]).to(curve) / (curve.shape[1] - 1)
        stored = even_counts(len(share) - 1, POINTS).to(share.device)
        return rows(share[stored], value=area(curve, share), defined=defined, curve=curve[:, stored])


@dataclass(frozen=True)
class ModuloSensitivityN:
    """Correlation of the attribution of N random features with the number of true ones among them, averaged over N.

    Features are perturbed one at a time, in random orders; a step that changes the output has met a feature that
    counts. The output changes, added up over the steps, are therefore the number of true features met, and no model is
    needed. At every N this estimates the same number, the correlation of attribution and truth over the features of the
    sample: the curve is flat except for chance. The paper uses every N. Undefined at an N where the sums or the numbers
    are constant; the value is the mean over the others.
    """

    sizes: int = 16  # values of N, evenly spaced on a log scale from 1 to all features but one
    sets: int = 100  # random orders
    absolute: bool = True  # add up absolute attributions: this truth has no sign

    higher_is_better: ClassVar[bool] = True
    range: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    ideal: ClassVar[float] = 1.0
    needs: ClassVar[tuple[str, ...]] = ("truth",)
    invariant: ClassVar[tuple[str, ...]] = ("scale",)
    exact_on_linear: ClassVar[bool] = False
    cost: ClassVar[str] = "no model call"
    axes: ClassVar[tuple[str, str]] = ("N, number of features perturbed", "correlation")
    paper: ClassVar[str] = "AttributionLab (Zhang et al., 2024), appendix F.5"

    def __call__(self, trial: Trial) -> Evidence:
        true, values = binary_truth(trial), trial.map.flatten(1)
        sizes, orders = nested_sets(trial.scene, self.sizes, self.sets)
        sums = nested_sums(values.abs() if self.absolute else values, orders, sizes).transpose(1, 2)  # (B, sizes, sets)
        true_counts = nested_sums(true, orders, sizes).transpose(1, 2)
        rounding = ROUNDING * sums.abs().amax(dim=-1)
        curve, defined = pearson(sums, true_counts, rounding, rounding.new_zeros(()))
        count = defined.sum(dim=1)
        value = curve.sum(dim=1) / count.clamp(min=1)
        return rows(sizes, value=value, defined=count > 0, curve=curve, curve_defined=defined)

    def reduce(self, evidence: Evidence) -> Score:
        """The mean over defined samples; the curve likewise, point by point."""
        return point_by_point(evidence)
