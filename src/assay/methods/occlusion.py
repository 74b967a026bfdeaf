"""What the score loses when features are replaced: one by one, or patch by patch (Zeiler and Fergus, 2014)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from assay.core.errors import NotApplicable, SpecError
from assay.core.map_grid import Cells
from assay.core.query import Query
from assay.methods._coalitions import coalition_samples


def score_drops(query: Query, count: int, keep: Callable[[slice], Tensor]) -> Tensor:
    """The sample's score minus that of each of ``count`` coalitions, which are made part by part: (B, count)."""
    scores = query.score_each(count, lambda part: coalition_samples(query, keep(part)))
    return (query.score(query.x) - scores).T


@dataclass(frozen=True)
class FeatureAblation:
    """How much the score drops when one feature is replaced by the baseline.

    A feature is replaced with all its entries: a pixel with its channels, a column with its one-hot block, a token with
    its embedding (Captum's FeatureAblation with the features as ``feature_mask``). One model row per sample and
    feature. Needs no gradients.
    """

    paper: ClassVar[str] = "Kokhlikyan et al., 2020"

    def __call__(self, query: Query) -> Tensor:
        shape = query.setting.features.shape
        features = torch.arange(torch.Size(shape).numel(), device=query.x.device)

        def without_one(part: slice) -> Tensor:
            return (features != features[part, None]).view(-1, *shape)

        return score_drops(query, len(features), without_one).reshape(-1, *shape)


@dataclass(frozen=True)
class Occlusion:
    """How much the score drops when a patch is replaced by the baseline, averaged over the patches on a pixel.

    Windows start every ``stride`` pixels from the top left corner until the image is covered. The last ones are cut at
    the border, and all channels are replaced together (Captum's semantics). Columns of a table and tokens are replaced
    one by one, as in feature ablation: ``window`` and ``stride`` are for images. Needs no gradients.
    """

    window: int = 5  # side of the patch, in pixels
    stride: int = 3  # from one patch to the next, in pixels; at most the window

    paper: ClassVar[str] = "Zeiler and Fergus, 2014"

    def __post_init__(self) -> None:
        if not 1 <= self.stride <= self.window:
            raise SpecError(
                f"occlusion: window={self.window}, stride={self.stride} would leave pixels out. "
                "Choose 1 <= stride <= window."
            )

    def __call__(self, query: Query) -> Tensor:
        shape = query.setting.features.shape
        if len(shape) == 1:
            return FeatureAblation()(query)
        if min(shape) < self.window:
            raise NotApplicable(f"needs images of at least {self.window} pixels a side, and these have {min(shape)}")
        down, across = (_coverage(size, self.window, self.stride).to(query.x.device) for size in shape)
        windows = (down.shape[1], across.shape[1])
        query.remarks.grid = Cells(_same_windows(down, across), f"{self.window}x{self.window} windows")

        def without_a_patch(part: slice) -> Tensor:
            index = torch.arange(part.start, part.stop, device=query.x.device)
            return ~(down.T[index // windows[1]].unsqueeze(2) & across.T[index % windows[1]].unsqueeze(1))

        drop = score_drops(query, windows[0] * windows[1], without_a_patch).reshape(-1, *windows)
        return _mean_weights(down, drop.dtype) @ drop @ _mean_weights(across, drop.dtype).T


def _coverage(size: int, window: int, stride: int) -> Tensor:
    """Which pixels along an axis each window covers: bool (pixels, windows)."""
    starts = torch.arange(0, size - window + stride, stride)
    pixel = torch.arange(size)[:, None]
    return (pixel >= starts) & (pixel < starts + window)


def _same_windows(down: Tensor, across: Tensor) -> Tensor:
    """(1, height, width): pixels with the same number lie under the same windows, and so have the same mean."""
    rows, columns = (cover.unique(dim=0, return_inverse=True)[1] for cover in (down, across))
    cells: Tensor = rows.unsqueeze(1) * (int(columns.max()) + 1) + columns
    return cells.unsqueeze(0)


def _mean_weights(cover: Tensor, dtype: torch.dtype) -> Tensor:
    """Weights (pixels, windows) that average over the windows on each pixel."""
    return cover.to(dtype) / cover.sum(dim=1, keepdim=True)
