"""What stands where a feature was removed: a canvas, or what its neighbours suggest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import torch
from torch import Tensor

from assay.core.errors import NotApplicable, SpecError, suggest
from assay.core.query import Query
from assay.core.question import BASELINES
from assay.core.setting import Setting
from assay.core.trial import Scene
from assay.kit.smooth import blur

CANVASES = (*BASELINES, "blur", "noise", "impute")
SIDE = 224  # pixels of the images that the blur's width is given for; it grows with the shorter side
REACH = 25  # a kernel of 51 pixels
# IDSDS writes sigma 41 and divides by 2 sigma before it squares, where a Gaussian divides by sqrt(2) sigma.
SIGMA = 41 * sqrt(2)


def painted(scene: Scene, canvas: str | float) -> Tensor | None:
    """The canvases (B, *entries) that are no baseline: each sample's own. None for the others."""
    if isinstance(canvas, str) and canvas not in CANVASES:
        raise SpecError(f"no canvas '{canvas}'.{suggest(canvas, CANVASES)} Known: {', '.join(CANVASES)} or a number.")
    if canvas == "blur":
        return _blurred(need_images(scene.setting, "blur"), scene.samples.x)
    if canvas == "noise":
        noise = scene.draws("canvas").uniform(*scene.setting.features.entries)
        return (2 * noise - 1).to(scene.samples.x)
    return None


def need_images(setting: Setting, canvas: str) -> Setting:
    if setting.kind != "image":
        raise NotApplicable(
            f"canvas='{canvas}' needs images, and this is {setting.kind} data: write canvas='zero', or 'mean'"
        )
    return setting


def _blurred(setting: Setting, x: Tensor) -> Tensor:
    share = min(setting.features.shape) / SIDE
    reach = max(1, round(REACH * share))
    return blur(x.flatten(0, 1), SIGMA * share, reach).view_as(x)


@dataclass(frozen=True, eq=False)
class Removal:
    """Inputs without some of their features: on the query's baseline, or imputed where there is noise to add.

    Noisy linear imputation (Rong et al., 2022): a removed pixel is the weighted mean of its eight neighbours, plus
    noise that is the sample's own, the same for every set of removed pixels. Where no pixel is left to impute from,
    there is nothing but noise (ours).
    """

    query: Query
    noise: Tensor | None = None  # (B, *entries)

    def __call__(self, removed: Tensor) -> Tensor:
        """Features (K, B, *features) that are removed -> inputs (K, B, *entries)."""
        gone = self.query.setting.features.expand(removed)
        if self.noise is None:
            return torch.where(gone, self.query.baseline, self.query.x)
        return torch.where(gone, self._imputed(removed) + self.noise, self.query.x)

    def each(self, count: int, removed: Callable[[slice], Tensor], read: Callable[[Tensor], Tensor]) -> Tensor:
        """What is read (count, B, ...) at inputs that are made part by part."""
        return torch.cat([read(self(removed(part))) for part in self.query.parts(count)])

    def _imputed(self, removed: Tensor) -> Tensor:
        from assay.kit.impute import impute  # compiles on the first call

        images, holes = self.query.x.expand(len(removed), *self.query.x.shape), removed.flatten(2)
        some = ~holes.all(dim=2)
        found = torch.zeros_like(images)
        found[some] = impute(images[some], removed[some]).to(found)
        return found
