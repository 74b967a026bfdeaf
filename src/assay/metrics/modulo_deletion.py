"""Deletion and insertion where one feature can undo another: count modulo N (Zhang et al., 2023)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch

from assay.core.evidence import Evidence
from assay.core.facts import Varies
from assay.core.trial import Trial
from assay.kit.curves import area, cumulative_share, even_counts
from assay.metrics._order import feature_order
from assay.metrics._pair import binary_truth
from assay.metrics._rows import rows

POINTS = 64  # steps of the stored curve; the area uses every feature


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
    paper: ClassVar[str] = "AttributionLab (Zhang et al., 2023), appendix F.4"

    def __call__(self, trial: Trial) -> Evidence:
        true = binary_truth(trial)
        defined = true.any(dim=1)
        curve = cumulative_share(true.gather(1, feature_order(trial, self.absolute, self.ties)))  # true features met
        if self.direction == "delete":
            curve = (1 - curve) * defined[:, None]
        share = torch.arange(curve.shape[1]).to(curve) / (curve.shape[1] - 1)
        stored = even_counts(len(share) - 1, POINTS).to(share.device)
        return rows(share[stored], value=area(curve, share), defined=defined, curve=curve[:, stored])
