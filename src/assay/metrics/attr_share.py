"""Attr% (Zhou et al., 2022)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from assay.core.evidence import Evidence
from assay.core.trial import Trial
from assay.kit.soft import precision, signed
from assay.metrics._pair import some
from assay.metrics._rows import rows


@dataclass(frozen=True)
class AttrShare:
    """Attr%: share of the attribution that lies inside the effective region, the features with an effect.

    Every feature of the region counts the same, however large its effect. Overall cannot see signs (a negated map
    scores as well), nor how much of the region is named. A map of zeros, or without a positive value where these are
    asked for, puts nothing there and scores 0, as in the code of Li et al. (2024). Undefined where the region is empty
    or the whole input (ours).
    """

    sign: Literal["overall", "positive"] = "overall"  # sizes whatever the sign, or positive attribution alone

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
        defined = some(region)
        share = precision(signed(trial.map.flatten(1).double(), self.sign), region.double())
        return rows(value=share.where(defined, 0.0), defined=defined)
