"""Deletion and insertion where one feature can undo another: count modulo N (Zhang et al., 2023)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch

from assay.core.evidence import Evidence
from assay.core.promises import Varies
from assay.core.trial import Trial
from assay.kit.curves import area, even_counts, found_share
from assay.metrics._order import ordered
from assay.metrics._pair import whole
from assay.metrics._rows import rows

POINTS = 64  # steps of the curve that is kept; the area is over every feature


@dataclass(frozen=True)
class ModuloDeletion:
    """Area under the share of true features left, or inserted, one feature at a time, highest attribution first.

    Where the output is a count modulo N, an answer cannot be compared with the first one, only with the one before: a
    step that changes it has removed, or inserted, a feature that counts. So the correct steps are the true features
    gone through, and no model is needed. Insertion (``direction='insert'``, ``modulo_insertion``) draws the share of
    true features inserted, deletion the share left, which is one minus the other. With w true features of P, deletion
    is w / 2P at best and 1 - w / 2P at worst, insertion the other way round. Undefined where no feature is true.
    """

    direction: Literal["delete", "insert"] = "delete"  # true features left, or true features inserted
    absolute: bool = True  # rank by the size of the attribution: this truth has no sign
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
        true = whole(trial)
        defined = true.any(dim=1)
        curve = found_share(true.gather(1, ordered(trial, self.absolute, self.ties)))  # of true features met
        if self.direction == "delete":
            curve = (1 - curve) * defined[:, None]
        gone = torch.arange(curve.shape[1]).to(curve) / (curve.shape[1] - 1)
        kept = even_counts(len(gone) - 1, POINTS).to(gone.device)
        return rows(gone[kept], value=area(curve, gone), defined=defined, curve=curve[:, kept])
