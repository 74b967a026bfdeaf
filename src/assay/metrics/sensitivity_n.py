"""Sensitivity-N (Ancona et al., 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from assay.core.evidence import Evidence, Score
from assay.core.question import Question
from assay.core.trial import Scene, Trial
from assay.kit.feature_orders import nested_sums, pearson, positions
from assay.kit.rounding import answer_rounding
from assay.metrics._removal import Removal
from assay.metrics._rows import rows
from assay.metrics._sets import nested_sets, point_by_point

ROUNDING = 1e-12  # relative: attribution sums closer than this are equal


@dataclass(frozen=True)
class SensitivityN:
    """Correlation of the attribution of N random features with the drop when these are replaced, averaged over N.

    1 for every N if effects add up and the attribution is exact. The drop is that of the number the environment asks
    about, which is what methods explain unless a study asks otherwise. Attributions of an additive logit are not exact
    for its probability, and score less than 1 there (AttributionLab uses readout='probability'). Sets are nested: the
    set of size N is the first N features of a shuffled order, so one order serves every N, and each N still has
    independent sets (ours). All samples and methods share the orders. Eight values of N are ours: 16 need twice the
    model rows and mostly narrow the interval of the mean by only a tenth or two, as neighbouring sizes share their
    orders; half the sets would widen it more. Undefined at an N where the drops or the sums are constant; the value is
    the mean over the others.
    """

    sizes: int = 8  # values of N, evenly spaced on a log scale from 1 to all features but one
    sets: int = 100  # random sets for each N
    canvas: str | float = "zero"  # for features: zero, true, mean, colour, uniform, blur, noise, rows or a number
    readout: Literal["logit", "probability", "margin", "value"] | None = None  # None: as the environment asks
    temperature: float | None = None  # None: as the environment asks

    higher_is_better: ClassVar[bool] = True
    range: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    ideal: ClassVar[float] = 1.0
    invariant: ClassVar[tuple[str, ...]] = ("scale", "shift")
    exact_on_linear: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("model",)
    cost: ClassVar[str] = "sizes x sets + 1 model rows a sample, shared by all methods"
    axes: ClassVar[tuple[str, str]] = ("N, number of features replaced together", "correlation")
    paper: ClassVar[str] = "Ancona et al., 2018; AttributionLab (Zhang et al., 2024), appendix G.5"

    def probe(self, scene: Scene) -> dict[str, Tensor]:
        """Scores of the inputs (B,), and of the inputs without each set (B, sizes, sets)."""
        removal = Removal.of(scene, self.canvas, Question(self.readout, self.temperature))
        query, (sizes, orders) = removal.query, self._design(scene)
        position = positions(orders).int().view(self.sets, 1, *scene.setting.features.shape)
        del orders  # with positions of 8 bytes, both would take 80 MB of the budget at 224 x 224 pixels

        def removed(part: slice) -> Tensor:
            index = torch.arange(part.start, part.stop, device=position.device)
            size = sizes[index // self.sets].view(-1, *[1] * (position.dim() - 1))
            return position[index % self.sets] < size

        without = removal.each(len(sizes) * self.sets, removed, query.score)
        return {"clean": query.score(query.x), "without": without.T.reshape(len(query.x), -1, self.sets)}

    def __call__(self, trial: Trial) -> Evidence:
        probe = trial.probe or self.probe(trial.scene)
        sizes, orders = self._design(trial.scene)
        sums = nested_sums(trial.map.flatten(1), orders, sizes).transpose(1, 2)  # (B, sizes, sets)
        drops = probe["clean"][:, None, None].double() - probe["without"].double()
        sum_rounding = ROUNDING * sums.abs().amax(dim=-1)
        curve, defined = pearson(sums, drops, sum_rounding, _rounding(probe["clean"], probe["without"]))
        count = defined.sum(dim=1)
        value = curve.sum(dim=1) / count.clamp(min=1)
        return rows(sizes, value=value, defined=count > 0, curve=curve, curve_defined=defined)

    def reduce(self, evidence: Evidence) -> Score:
        """The mean over defined samples; the curve likewise, point by point."""
        return point_by_point(evidence)

    def _design(self, scene: Scene) -> tuple[Tensor, Tensor]:
        """Set sizes (S,) and shuffled orders (sets, P)."""
        return nested_sets(scene, self.sizes, self.sets)


def _rounding(clean: Tensor, without: Tensor) -> Tensor:
    """By how much two equal scores may differ (B, sizes): some units in the last place of the largest."""
    largest = torch.maximum(without.abs().amax(dim=-1), clean.abs()[:, None])
    return answer_rounding(without.dtype) * largest.double()
