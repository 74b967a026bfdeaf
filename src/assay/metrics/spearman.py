"""Spearman's rank correlation with known truth (Katakam, 2026)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from assay.core.evidence import Evidence
from assay.core.trial import Trial
from assay.kit.ranks import spearman, spearman_ceiling
from assay.metrics._pair import pair
from assay.metrics._rows import rows


@dataclass(frozen=True)
class Spearman:
    """Rank correlation of attribution and effect over the features of a sample.

    Equal values share their average rank. Undefined where all attributions or all effects of a sample are equal. The
    paper normalises sizes, so sizes are ranked by default. Where few features have an effect, the others tie, and a map
    that puts them in any order cannot reach 1 (by size, it cannot see signs either: a negated map scores as well): the
    row ``ceiling`` is the best such a map could do (0.52 for 2 of 20 features, 0.76 for 5). A map with the same ties
    can pass it.
    """

    absolute: bool = True  # rank sizes, as the paper does; otherwise signed attribution against signed effect

    higher_is_better: ClassVar[bool] = True
    range: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    ideal: ClassVar[float] = 1.0
    needs: ClassVar[tuple[str, ...]] = ("truth",)
    invariant: ClassVar[tuple[str, ...]] = ("scale", "monotone")
    exact_on_linear: ClassVar[bool] = False
    cost: ClassVar[str] = "no model call"
    paper: ClassVar[str] = "AGOP-IxG (Katakam, 2026), section 4.3; arXiv:2605.15700"

    def __call__(self, trial: Trial) -> Evidence:
        claimed, true = pair(trial, self.absolute)
        value, defined = spearman(claimed, true)
        return rows(value=value, defined=defined, ceiling=spearman_ceiling(true))
