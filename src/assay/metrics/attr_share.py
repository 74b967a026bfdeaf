"""Attr% (Zhou et al., 2022)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from assay.core.evidence import Evidence
from assay.core.trial import Trial
from assay.kit.soft_precision import part_of_sign, precision
from assay.metrics._counting import some_not_all
from assay.metrics._rows import rows


@dataclass(frozen=True)
class AttrShare:
    """Attr%: share of the attribution that lies inside the effective region, the features with an effect.

    Every feature of the region counts the same, however large its effect. "overall" ignores signs (a negated map scores
    the same) and does not measure how much of the region is named. A map of zeros, or for "positive" one without a
    positive value, scores 0, as in the code of Li et al. (2024). Undefined where the region is empty or the whole input
    (ours).
    """

    sign: Literal["overall", "positive"] = "overall"  # absolute attribution, or positive attribution only

    higher_is_better: ClassVar[bool] = True
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    ideal: ClassVar[float] = 1.0
    needs: ClassVar[tuple[str, ...]] = ("truth",)
    invariant: ClassVar[tuple[str, ...]] = ("scale",)
    exact_on_linear: ClassVar[bool] = False
    cost: ClassVar[str] = "no model call"
    paper: ClassVar[str] = "Zhou et al., 2022; A Dual-Perspective Approach (Li et al., 2024)"

    def __call__(self, trial: Trial) -> Evidence:
        region = trial.effect.flatten(1) != 0
        defined = some_not_all(region)
        share = precision(part_of_sign(trial.map.flatten(1).double(), self.sign), region.double())
        return rows(value=share.where(defined, 0.0), defined=defined)
