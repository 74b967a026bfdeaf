"""Sign mixing: do pixels that are alike have attributions of both signs?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from assay.core.errors import NotApplicable, SpecError
from assay.core.evidence import Evidence
from assay.core.trial import Trial
from assay.kit.segments import rgb_pictures
from assay.metrics._rows import rows


@dataclass(frozen=True)
class SignMixing:
    """Share of opposite signs among neighbouring pixels of similar colour.

    Neighbours share a side. Their colours are similar if no channel of the picture (0..1) differs by more than
    ``near``. A pair counts as much as the smaller of its two absolute attributions, so that highlighted pixels decide.
    0 where such neighbours always have the same sign, 1/2 where signs are drawn at random. No measure of truth: a map
    of one sign scores 0, and a network may read a contrast between neighbours. Where equal colours have equal effects
    (``color_count``), the truth scores 0.

    Undefined where no pair of similar neighbours has two attributions other than 0. Definition ours.
    """

    near: float = 0.1  # largest difference of a channel between similar colours

    higher_is_better: ClassVar[bool] = False
    about: ClassVar[str] = "models"  # a method is not better for it
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    ideal: ClassVar[float] = 0.0
    needs: ClassVar[tuple[str, ...]] = ("image",)
    cost: ClassVar[str] = "no model call"
    invariant: ClassVar[tuple[str, ...]] = ("scale",)
    exact_on_linear: ClassVar[bool] = False
    paper: ClassVar[str] = "ours, for figure 5b of AttributionLab (Zhang et al., 2024)"

    def __post_init__(self) -> None:
        if not 0 <= self.near <= 1:
            raise SpecError(f"sign_mixing: near={self.near:g} is a difference of colours: write 0 to 1.")

    def __call__(self, trial: Trial) -> Evidence:
        setting = trial.scene.setting
        if setting.kind != "image":
            raise NotApplicable(f"needs images, and this is {setting.kind} data")
        pictures, maps = (setting.picture or rgb_pictures)(trial.scene.samples.x), trial.map.double()
        pairs = [self._weights(pictures, maps, dim) for dim in (-2, -1)]
        opposite, total = (torch.stack(sums).sum(dim=0) for sums in zip(*pairs, strict=True))
        defined = total > 0
        return rows(value=(opposite / total.where(defined, 1.0)).where(defined, 0.0), defined=defined)

    def _weights(self, pictures: Tensor, maps: Tensor, dim: int) -> tuple[Tensor, Tensor]:
        """Weights (B,) of the neighbours along a dimension: of pairs with opposite signs, and of all."""
        count = maps.shape[dim] - 1
        colour, next_colour = pictures.narrow(dim, 0, count), pictures.narrow(dim, 1, count)
        left, right = maps.narrow(dim, 0, count), maps.narrow(dim, 1, count)
        similar = ((colour - next_colour).abs() <= self.near).all(dim=1)
        weight = torch.minimum(left.abs(), right.abs()) * similar
        return (weight * ((left > 0) != (right > 0))).flatten(1).sum(dim=1), weight.flatten(1).sum(dim=1)
