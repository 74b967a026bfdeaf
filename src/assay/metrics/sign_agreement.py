"""Agreement of signs with known truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from assay.core.evidence import Evidence
from assay.core.trial import Trial
from assay.metrics._rows import rows
from assay.metrics._signed import effect, without_rounding


@dataclass(frozen=True)
class SignAgreement:
    """Share of the true effect that the map names with the right sign, among all that it names.

    ``sum |g| [a g > 0] / sum |g| [a != 0]``: features count by the size of their effect, however large their
    attribution. A map of random signs scores 0.5 on average, a negated truth 0. Features with attribution 0 do not
    count: recall measures how much of the truth is named. Undefined where a map names no feature with an effect. Ours:
    F1 "overall", Spearman by size, the pointing game and Attr% cannot see signs.
    """

    truth: Literal["explained", "signed"] = "explained"  # effect on the explained number, or as the document states it

    higher_is_better: ClassVar[bool] = True
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    ideal: ClassVar[float] = 1.0
    needs: ClassVar[tuple[str, ...]] = ("truth",)
    invariant: ClassVar[tuple[str, ...]] = ("scale",)
    exact_on_linear: ClassVar[bool] = False
    cost: ClassVar[str] = "no model call"
    paper: ClassVar[str] = "ours"

    def __call__(self, trial: Trial) -> Evidence:
        claimed, true = without_rounding(trial), effect(trial, self.truth).flatten(1).double()
        named = true.abs() * (claimed != 0)
        total = named.sum(dim=1)
        right = (named * (claimed * true > 0)).sum(dim=1)
        defined = total > 0
        return rows(value=(right / total.where(defined, 1.0)).where(defined, 0.0), defined=defined)
