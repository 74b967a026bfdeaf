"""Precision among the m largest attributions, where m features have an effect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from assay.core.evidence import Evidence
from assay.core.facts import Varies
from assay.core.trial import Trial
from assay.kit.feature_orders import among_largest
from assay.metrics._pair import attribution_and_effect, counting_samples, some_not_all
from assay.metrics._rows import rows


@dataclass(frozen=True)
class PrecisionAtSupport:
    """Share of the m largest attributions that have an effect, m being the number of effects in the sample.

    Top-k precision with each sample's own k, so that ties in the truth do not matter (ours). Undefined where no feature
    or every feature has an effect. A constant map scores m divided by the number of features, unless ties are stable.
    """

    absolute: bool = True  # absolute attribution, all effects; otherwise signed attribution, positive effects only
    ties: Literal["stable", "random"] = "random"  # equal values: in reading order, or the mean over random orders
    samples: Literal["all", "correct"] = "all"  # which samples count: all, or those that the model predicts correctly

    higher_is_better: ClassVar[bool] = True
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    ideal: ClassVar[float] = 1.0
    needs: ClassVar[tuple[str, ...]] = ("truth",)
    invariant: ClassVar[tuple[str, ...]] = ("scale", "monotone")
    exact_on_linear: ClassVar[bool] = False
    cost: ClassVar[str] = "no model call"
    varies: ClassVar[Varies] = (("samples", "correct", {"cost": "1 model row a sample"}),)
    paper: ClassVar[str] = "after top-k precision, AGOP-IxG (Katakam, 2026), section 4.3; arXiv:2605.15700"

    def __call__(self, trial: Trial) -> Evidence:
        claimed, effect = attribution_and_effect(trial, self.absolute)
        true = effect > 0
        defined = some_not_all(true) & counting_samples(trial, self.samples)
        support = true.sum(dim=1)
        hits = (among_largest(claimed, support, self.ties) * true).sum(dim=1)
        return rows(value=(hits / support.clamp(min=1)).where(defined, 0.0), defined=defined)
