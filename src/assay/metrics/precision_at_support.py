"""Precision among as many features as have an effect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from assay.core.evidence import Evidence
from assay.core.trial import Trial
from assay.kit.ranks import among_largest
from assay.metrics._pair import pair, some
from assay.metrics._rows import rows


@dataclass(frozen=True)
class PrecisionAtSupport:
    """Share of the m largest attributions that have an effect, m being the number of effects in the sample.

    Top-k precision with each sample's own k, so that no tie in the truth decides (ours). Undefined where no feature or
    every feature has an effect. A constant map scores m over the number of features, unless ties are stable.
    """

    absolute: bool = True  # rank by size and count all effects; otherwise signed, and only those that raise the answer
    ties: Literal["stable", "random"] = "random"  # equal values: in reading order, or the mean over random orders

    higher_is_better: ClassVar[bool] = True
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    ideal: ClassVar[float] = 1.0
    needs: ClassVar[tuple[str, ...]] = ("truth",)
    invariant: ClassVar[tuple[str, ...]] = ("scale", "monotone")
    exact_on_linear: ClassVar[bool] = False
    cost: ClassVar[str] = "no model call"
    paper: ClassVar[str] = "after top-k precision, AGOP-IxG (Katakam, 2026), section 4.3; arXiv:2605.15700"

    def __call__(self, trial: Trial) -> Evidence:
        claimed, effect = pair(trial, self.absolute)
        true = effect > 0
        defined = some(true)
        support = true.sum(dim=1)
        found = (among_largest(claimed, support, self.ties) * true).sum(dim=1)
        return rows(value=(found / support.clamp(min=1)).where(defined, 0.0), defined=defined)
