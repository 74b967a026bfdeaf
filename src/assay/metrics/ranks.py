"""Whether the largest attributions belong to the largest effects (Katakam, 2026): rank correlation and precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from assay.core.errors import NotApplicable, SpecError
from assay.core.evidence import Evidence
from assay.core.facts import Varies
from assay.core.trial import Trial
from assay.kit.feature_orders import among_largest, spearman, spearman_ceiling
from assay.metrics._counting import counting_samples, some_not_all
from assay.metrics._rows import rows


def attribution_and_effect(trial: Trial, absolute: bool) -> tuple[Tensor, Tensor]:
    """Attribution and effect (B, P), signed or absolute."""
    claimed, true = trial.map.flatten(1), trial.effect.flatten(1)
    return (claimed.abs(), true.abs()) if absolute else (claimed, true)


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


@dataclass(frozen=True)
class TopK:
    """Share of the k largest attributions that are among the k largest effects.

    If fewer than k features have an effect, effects tie at 0, and the rule for ties fills the set;
    ``precision_at_support`` avoids this. The paper's rule for ties is not known. Ours: ties at random, in map and truth
    independently, and the value is the mean over all outcomes. Stable ties reward a constant map if the first features
    are the ones with an effect. Undefined where all effects of a sample are equal.
    """

    k: int | None = None  # features in each set; None: as many as may have an effect, if the environment says so
    absolute: bool = True  # compare absolute values, as the paper does; otherwise signed attribution with signed effect
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
    paper: ClassVar[str] = "AGOP-IxG (Katakam, 2026), section 4.3; arXiv:2605.15700"

    def __post_init__(self) -> None:
        if self.k is not None and self.k < 1:
            raise SpecError(f"top_k: k={self.k} must be at least 1.")

    def __call__(self, trial: Trial) -> Evidence:
        claimed, true = attribution_and_effect(trial, self.absolute)
        k = self._k(trial)
        if k >= claimed.shape[1]:
            raise NotApplicable(f"needs more than k={k} features: the largest {k} are all there are")
        count = torch.full((len(trial),), k, device=claimed.device)
        both = among_largest(claimed, count, self.ties) * among_largest(true, count, self.ties)
        defined = (true.amax(dim=1) > true.amin(dim=1)) & counting_samples(trial, self.samples)
        return rows(value=(both.sum(dim=1) / k).where(defined, 0.0), defined=defined)

    def _k(self, trial: Trial) -> int:
        if self.k is not None:
            return self.k
        informative = trial.scene.setting.informative
        if not informative:
            raise NotApplicable("needs k, as in top_k(k=5): this environment does not say which features may count")
        return len(informative)


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
