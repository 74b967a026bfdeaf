"""Deletion where one feature can undo another: count modulo N (Zhang et al., 2023)."""

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
class ModuloDeletion:
    """Area under the share of true features left, one feature at a time removed, highest attribution first.

    One minus ``modulo_insertion``, step by step: a step that changes the output has removed a feature that counts, and
    no model is needed. With w true features of P, the best possible is w / 2P, the worst 1 - w / 2P.
    Undefined where no feature is true.
    """

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
    paper: ClassVar[str] = "AttributionLab (Zhang et al., 2023), appendix F.4"

    def __call__(self, trial: Trial) -> Evidence:
        share, gone, defined = met(trial, self.absolute, self.ties)
        left = (1 - share) * defined[:, None]
        kept = even_counts(len(gone) - 1, POINTS).to(gone.device)
        return rows(gone[kept], value=area(left, gone), defined=defined, curve=left[:, kept])
