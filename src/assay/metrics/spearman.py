"""Spearman's rank correlation with known truth (Katakam, 2026)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from assay.core.evidence import Evidence
from assay.core.facts import Varies
from assay.core.trial import Trial
from assay.kit.feature_orders import spearman, spearman_ceiling
from assay.metrics._pair import attribution_and_effect, counting_samples
from assay.metrics._rows import rows


@dataclass(frozen=True)
class Spearman:
    """Rank correlation of attribution and effect over the features of a sample.

    Equal values share their average rank. Undefined where all attributions or all effects of a sample are equal.
    Absolute values are ranked by default, as the paper normalises sizes; they hide signs, and a negated map scores the
    same. If few features have an effect, the others tie, and a map that puts these in any order cannot reach 1: the row
    ``ceiling`` is the best score of such a map (0.52 for 2 of 20 features, 0.76 for 5). A map with the same ties can
    exceed it.
    """

    absolute: bool = True  # rank absolute values, as the paper does; otherwise signed attribution against signed effect
    samples: Literal["all", "correct"] = "all"  # which samples count: all, or those that the model predicts correctly

    higher_is_better: ClassVar[bool] = True
    range: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    ideal: ClassVar[float] = 1.0
    needs: ClassVar[tuple[str, ...]] = ("truth",)
    invariant: ClassVar[tuple[str, ...]] = ("scale", "monotone")
    exact_on_linear: ClassVar[bool] = False
    cost: ClassVar[str] = "no model call"
    varies: ClassVar[Varies] = (("samples", "correct", {"cost": "1 model row a sample"}),)
    paper: ClassVar[str] = "AGOP-IxG (Katakam, 2026), section 4.3; arXiv:2605.15700"

    def __call__(self, trial: Trial) -> Evidence:
        claimed, true = attribution_and_effect(trial, self.absolute)
        value, defined = spearman(claimed, true)
        defined = defined & counting_samples(trial, self.samples)
        return rows(value=value.where(defined, 0.0), defined=defined, ceiling=spearman_ceiling(true))
