"""Soft F1 against known truth (Zhang et al., 2023)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from assay.core.evidence import Evidence
from assay.core.trial import Trial
from assay.kit.soft_precision import f1
from assay.metrics._rows import rows
from assay.metrics._signed import claimed_and_true


@dataclass(frozen=True)
class F1:
    """Harmonic mean of soft precision and soft recall, per sample; 0 where both are 0.

    Undefined where no feature has a true effect of the chosen sign. The paper calls a method faithful when this is at
    least 0.5. "overall" ignores signs, and a negated map scores the same: use positive, negative and sign_agreement as
    well.
    """

    sign: Literal["overall", "positive", "negative"] = "overall"  # both signs, or one sign of attribution and truth
    smooth: float = 0.0  # sigma in pixels of a Gaussian blur of the truth, for coarse maps; images only
    truth: Literal["explained", "signed"] = "explained"  # effect on the explained number, or as the document states it

    higher_is_better: ClassVar[bool] = True
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    ideal: ClassVar[float] = 1.0
    invariant: ClassVar[tuple[str, ...]] = ("scale",)
    exact_on_linear: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ("truth",)
    cost: ClassVar[str] = "no model call"
    paper: ClassVar[str] = "AttributionLab (Zhang et al., 2023), section 4 and eq. 17"

    def __call__(self, trial: Trial) -> Evidence:
        claimed, true = claimed_and_true(trial, self.sign, self.smooth, self.truth)
        return rows(value=f1(claimed, true), defined=true.any(dim=1))
