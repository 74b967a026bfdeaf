"""Soft precision, recall and F1 against known truth (Zhang et al., 2024), and agreement of signs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from assay.core.errors import NotApplicable, SpecError
from assay.core.evidence import Evidence
from assay.core.trial import Trial
from assay.kit.blur import blur
from assay.kit.map_grids import best_f1, best_f1_on, lies_on
from assay.kit.soft_precision import f1, normalised, part_of_sign, precision, recall, scaled_by_largest
from assay.metrics._rows import rows

UNITS = 32  # in the last place: how far rounding in a network's layers, and in hundreds of steps, takes a value off 0


def effect(trial: Trial, truth: str) -> Tensor:
    """The effect that the map is compared with.

    ``explained``: the effect on the explained number. ``signed``: the effect that the document states, which is about
    the probability and always signed.
    """
    return trial.effect if truth == "explained" else trial.scene.truth.effect


def without_rounding(trial: Trial) -> Tensor:
    """The map (B, P) in float64, with 0 where a value is rounding error only.

    That is a value below ``UNITS`` units in the last place of the map's largest value, or of the sizes that the method
    says it added up: where these cancel, the largest value of a map can itself be rounding error.
    """
    values = trial.map.flatten(1)
    unit = torch.finfo(values.dtype).eps * values.abs().amax(dim=1, keepdim=True)
    if trial.resolution is not None:
        unit = torch.maximum(unit, trial.resolution.flatten(1))
    return values.double().where(values.abs() > UNITS * unit, 0.0)


def claimed_and_true(trial: Trial, sign: str, smooth: float, truth: str) -> tuple[Tensor, Tensor]:
    """Attribution and truth (B, P) in [0, 1]; the truth is blurred after its sign is picked, and scaled back to 1."""
    claimed = part_of_sign(normalised(without_rounding(trial)), sign)
    true = part_of_sign(normalised(effect(trial, truth).flatten(1)), sign)
    if smooth < 0:
        raise SpecError(f"smooth={smooth:g} is a width: write 0 or more.")
    if smooth == 0:
        return claimed, true
    if trial.scene.setting.kind != "image":
        raise NotApplicable("a smooth truth needs images")
    return claimed, scaled_by_largest(blur(true.view_as(trial.effect), smooth).flatten(1))


def f1_ceiling(trial: Trial, true: Tensor) -> Tensor:
    """The best F1 (B,) against a truth (B, P) of maps that the method can return.

    These are maps on the grid that the method states. Without a grid, and where its map does not lie on the grid, they
    are all maps: the best one is 1 where the truth exceeds half of that F1, and 0 elsewhere. With a graded or smoothed
    truth it scores more than the truth itself.
    """
    finest = best_f1(true, torch.ones_like(true))
    if trial.grid is None:
        return finest
    return best_f1_on(trial.grid, true.view(trial.map.shape)).where(lies_on(trial.grid, trial.map), finest)


@dataclass(frozen=True)
class Precision:
    """Share of the attribution that lies on features with a true effect.

    ``sum |a g| / sum |a|`` after eq. 17. A map of zeros, or without the chosen sign, scores 0. Undefined where no
    feature has a true effect of that sign. "overall" ignores signs: a map with the right features and the wrong signs
    is perfect. A map reaches 1 if its nonzero values lie where the truth is +1 or -1. A graded truth is first divided
    by its largest size, positive and negative effects each by their own (ours); the best score is then below 1, as it
    is for a smoothed truth.
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
    paper: ClassVar[str] = "AttributionLab (Zhang et al., 2024), section 4 and eq. 17"

    def __call__(self, trial: Trial) -> Evidence:
        claimed, true = claimed_and_true(trial, self.sign, self.smooth, self.truth)
        return rows(value=precision(claimed, true), defined=true.any(dim=1))


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
    paper: ClassVar[str] = "AttributionLab (Zhang et al., 2024), section 4 and eq. 17"

    def __call__(self, trial: Trial) -> Evidence:
        claimed, true = claimed_and_true(trial, self.sign, self.smooth, self.truth)
        return rows(value=recall(claimed, true), defined=true.any(dim=1))


@dataclass(frozen=True)
class F1:
    """Harmonic mean of soft precision and soft recall, per sample; 0 where both are 0.

    Undefined where no feature has a true effect of the chosen sign. The paper calls a method faithful when this is at
    least 0.5. "overall" ignores signs, and a negated map scores the same: use positive, negative and sign_agreement as
    well. The row ``ceiling`` is the largest F1 of a map that the method can return (ours): of maps on the grid of its
    layer, segments, patches or windows if it states one, else of all maps. It is below 1 for a smoothed or graded
    truth, and for coarse maps.
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
    paper: ClassVar[str] = "AttributionLab (Zhang et al., 2024), section 4 and eq. 17"

    def __call__(self, trial: Trial) -> Evidence:
        claimed, true = claimed_and_true(trial, self.sign, self.smooth, self.truth)
        return rows(value=f1(claimed, true), defined=true.any(dim=1), ceiling=f1_ceiling(trial, true))


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
