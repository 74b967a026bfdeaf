"""Insertion where one feature can undo another: count modulo N (Zhang et al., 2023)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from assay.core.evidence import Evidence
from assay.core.trial import Trial
from assay.kit.curves import area, even_counts
from assay.metrics._rows import rows
from assay.metrics._whole import met

POINTS = 64  # steps of the curve that is kept; the area is over every feature


@dataclass(frozen=True)
class ModuloInsertion:
    """Area under the share of true features met, one feature at a time, highest attribution first.

    Where the output is a count modulo N, an answer cannot be compared with the first one, only with the one before: a
    step that changes it has inserted a feature that counts. So the correct steps are the true features inserted, and no
    model is needed. With w true features of P, the best possible is 1 - w / 2P, the worst w / 2P.
    Undefined where no feature is true.
    """

    absolute: bool = True  # rank by the size of the attribution: this truth has no sign
    ties: Literal["stable", "random"] = "stable"  # equal attributions: in reading order, or shuffled per sample

    higher_is_better: ClassVar[bool] = True
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    ideal: ClassVar[float] = 1.0
    invariant: ClassVar[tuple[str, ...]] = ("scale", "monotone")
    exact_on_linear: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ("truth",)
    cost: ClassVar[str] = "no model call"
    axes: ClassVar[tuple[str, str]] = ("share of features inserted", "share of true features met")
    paper: ClassVar[str] = "AttributionLab (Zhang et al., 2023), appendix F.4"

    def __call__(self, trial: Trial) -> Evidence:
        share, gone, defined = met(trial, self.absolute, self.ties)
        kept = even_counts(len(gone) - 1, POINTS).to(gone.device)
        return rows(gone[kept], value=area(share, gone), defined=defined, curve=share[:, kept])
