"""Soft recall against known truth (Zhang et al., 2023)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from assay.core.evidence import Evidence
from assay.core.trial import Trial
from assay.kit.soft_precision import recall
from assay.metrics._rows import rows
from assay.metrics._signed import claimed_and_true


@dataclass(frozen=True)
class Recall:
    """Share of the true effect that the attribution names.

    ``sum |a g| / sum |g|`` after eq. 17, so every true feature counts in proportion to its attribution relative to the
    largest one. A map without the chosen sign scores 0. Undefined where no feature has a true effect of that sign. A
    graded truth is first divided by its largest size, positive and negative effects each by their own (ours); then, and
    with a smoothed truth, the map that equals the truth stays below 1. "overall" ignores signs: a negated map scores
    the same.
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
        return rows(value=recall(claimed, true), defined=true.any(dim=1))
