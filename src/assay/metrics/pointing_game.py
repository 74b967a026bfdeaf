"""The pointing game (Zhang et al., 2016)."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from typing import ClassVar, Literal

import torch
from torch import Tensor

from assay.core.errors import NotApplicable, SpecError
from assay.core.evidence import Evidence
from assay.core.trial import Trial
from assay.kit.soft_precision import part_of_sign
from assay.metrics._counting import some_not_all
from assay.metrics._rows import rows


@dataclass(frozen=True)
class PointingGame:
    """Whether the largest attribution lies on a feature with an effect, or close to one.

    1 for a hit, 0 for a miss. If several features share the largest attribution, the value is the share of them that
    hit: the mean score of a random pick among them (ours). Only one feature counts, with "overall" regardless of its
    sign: a negated map scores the same, and so does a map that is wrong everywhere else. Undefined where no feature, or
    every feature, would be a hit.
    """

    sign: Literal["overall", "positive", "negative"] = "overall"  # both signs, or one sign of attribution and effect
    radius: int = 0  # a pixel this close to a true one is a hit, too (the paper: 15); images only

    higher_is_better: ClassVar[bool] = True
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    ideal: ClassVar[float] = 1.0
    needs: ClassVar[tuple[str, ...]] = ("truth",)
    invariant: ClassVar[tuple[str, ...]] = ("scale", "monotone")
    exact_on_linear: ClassVar[bool] = False
    cost: ClassVar[str] = "no model call"
    paper: ClassVar[str] = "Top-down Neural Attention by Excitation Backprop (Zhang et al., 2016)"

    def __post_init__(self) -> None:
        if self.radius < 0:
            raise SpecError(f"pointing_game: radius={self.radius} must be at least 0.")

    def __call__(self, trial: Trial) -> Evidence:
        hits = part_of_sign(trial.effect, self.sign) > 0
        if self.radius:
            if trial.scene.setting.kind != "image":
                raise NotApplicable("a radius needs images: write radius=0")
            hits = _near(hits, self.radius)
        hits = hits.flatten(1)
        height = self._height(trial.map.flatten(1))
        peak = height == height.amax(dim=1, keepdim=True)
        defined = some_not_all(hits)
        share = (peak & hits).sum(dim=1).double() / peak.sum(dim=1)
        return rows(value=share.where(defined, 0.0), defined=defined)

    def _height(self, values: Tensor) -> Tensor:
        """The values of which the map points to the largest; not cut at 0, so that a map of the other sign has a peak,
        too."""
        return {"overall": values.abs(), "positive": values, "negative": -values}[self.sign]


def _near(true: Tensor, radius: int) -> Tensor:
    """Pixels (B, H, W) with a true one within ``radius``, counted row by row from running sums."""
    height, width = true.shape[1:]
    running = torch.nn.functional.pad(true.long(), (radius + 1, radius, radius, radius)).cumsum(dim=2)
    count = torch.zeros_like(true, dtype=torch.long)
    for row in range(2 * radius + 1):
        half = isqrt(radius**2 - (row - radius) ** 2)
        band, first, last = running[:, row : row + height], radius - half, radius + half + 1
        count += band[:, :, last : last + width] - band[:, :, first : first + width]
    return count > 0
