"""Maps crafted to fit a known watermark: Rect and Pooling (Li et al., 2024, section 3.2 and appendix D.2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from assay.core.errors import NotApplicable, SpecError
from assay.core.map_grid import Cells
from assay.core.protocols import Method
from assay.core.query import Query
from assay.core.trial import per_feature
from assay.kit.bands import band_of_rows
from assay.methods.integrated_gradients import IntegratedGradients

NEXT = 1e-6  # pixels: rounding does not decide between two places of a box that are equally near


@dataclass(frozen=True)
class Rectangle:
    """Rect: a box of ones around the centroid of another method's attribution, 0 elsewhere.

    It knows that the watermark is a box, and takes from the method where it lies. The box is cut off at the border.
    Where the weights are 0 everywhere, it lies in the middle (ours). "absolute" weighs a pixel by its absolute
    attribution, as maps were stored by Li et al., summed over channels; "positive" by what is positive of the sum over
    channels: the paper does not say which, and the place depends on it.
    """

    of: Method = IntegratedGradients()  # the inner method
    height: float = 0.268  # of the box, relative to the image's: 60 of 224 pixels; the published script: 30
    width: float = 0.268  # 60 of 224 pixels; the published script: 45
    weights: Literal["absolute", "positive"] = "absolute"  # what weighs pixels

    paper: ClassVar[str] = "A Dual-Perspective Approach (Li et al., 2024), appendix D.2"
    positive_only: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not (0 < self.height <= 1 and 0 < self.width <= 1):
            raise SpecError(f"rectangle: height={self.height} and width={self.width} must be above 0 and at most 1.")

    @property
    def fit(self) -> Callable[[Query], dict[str, Tensor]]:
        """The inner method's; absent if it has none."""
        return self.of.fit  # type: ignore[attr-defined,no-any-return]

    def __call__(self, query: Query) -> Tensor:
        weight = _strength(query, self.of, self.weights)
        down = _around_centroid(weight.sum(dim=2), self.height)
        across = _around_centroid(weight.sum(dim=1), self.width)
        return (down[:, :, None] & across[:, None, :]).to(query.x)


@dataclass(frozen=True)
class Bands:
    """Pooling: another method's attribution, averaged over bands of equal height that span the image.

    It knows where stripes of a watermark may lie, and takes from the method how much each matters. "absolute" averages
    absolute attributions, as maps were stored by Li et al., summed over channels; "positive" what is positive of the
    sum over channels. Attr% of bands equals that of the averaged numbers themselves where every band lies inside of the
    effective region or outside of it.
    """

    of: Method = IntegratedGradients()  # the inner method
    bands: int = 7  # of the image; 7 bits are enough for 100 classes, 4 for 10
    weights: Literal["absolute", "positive"] = "absolute"  # what is averaged

    paper: ClassVar[str] = "A Dual-Perspective Approach (Li et al., 2024), appendix D.2"
    positive_only: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.bands < 1:
            raise SpecError(f"bands: bands={self.bands} must be at least 1.")

    @property
    def fit(self) -> Callable[[Query], dict[str, Tensor]]:
        """The inner method's; absent if it has none."""
        return self.of.fit  # type: ignore[attr-defined,no-any-return]

    def __call__(self, query: Query) -> Tensor:
        mean = _strength(query, self.of, self.weights).mean(dim=2)  # of every row
        height, width = query.setting.features.shape
        band = band_of_rows(height, self.bands).to(mean.device)
        rows = torch.bincount(band, minlength=self.bands).clamp(min=1)
        pooled = (mean.new_zeros(len(mean), self.bands).index_add_(1, band, mean) / rows)[:, band]
        query.remarks.grid = Cells(band[None, :, None].expand(1, -1, width), "bands")
        return pooled[:, :, None].repeat(1, 1, width).to(query.x)


def _strength(query: Query, method: Method, weights: str) -> Tensor:
    """What the inner method says of every pixel, without signs: (B, height, width) float64."""
    if query.setting.kind != "image":
        raise NotApplicable(f"needs an image, and this is {query.setting.kind} data")
    attribution, features = method(query).double(), query.setting.features
    if weights == "positive":
        return per_feature(attribution, features).clamp(min=0)
    return per_feature(attribution.abs(), features)


def _around_centroid(weight: Tensor, share: float) -> Tensor:
    """Pixels of an axis within a part of this share around the centroid of the weights: bool (B, size)."""
    size = weight.shape[1]
    position = torch.arange(size, dtype=weight.dtype, device=weight.device)
    total = weight.sum(dim=1)
    centroid = torch.where(total > 0, (weight * (position + 0.5)).sum(dim=1) / total, size / 2)
    length = max(1, round(share * size))
    start = (centroid - length / 2 + 0.5 + NEXT).floor()[:, None]
    return (position >= start) & (position < start + length)
