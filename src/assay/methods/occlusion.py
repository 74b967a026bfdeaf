"""Occlusion (Zeiler and Fergus, 2014)."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

import torch
from torch import Tensor

from assay.core.errors import NotApplicable, SpecError
from assay.core.query import Query


@dataclass(frozen=True)
class Occlusion:
    """How much the score drops when a patch is replaced by the baseline, averaged over the patches on a pixel.

    Windows start every ``stride`` pixels from the top left corner until the image is covered; the last ones are cut
    at the border, and all channels go together (Captum's semantics). Columns of a table and tokens are replaced one
    by one, each with all its entries: ``window`` and ``stride`` are for images. Needs no gradients.
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
        covers = [cover.to(query.x.device) for cover in self._covers(query.setting.features.shape)]
        windows = [cover.shape[1] for cover in covers]
        scores = query.score_each(prod(windows), lambda part: _occluded(query, covers, part))
        drop = query.score(query.x) - scores
        return _average(drop.T.reshape(-1, *windows), [cover.to(drop.dtype) for cover in covers])

    def _covers(self, shape: tuple[int, ...]) -> list[Tensor]:
        """For each axis of the features, which places each window covers: bool (places, windows)."""
        if len(shape) == 1:
            return [torch.eye(shape[0], dtype=torch.bool)]
        if min(shape) < self.window:
            raise NotApplicable(f"needs images of at least {self.window} pixels a side, and these have {min(shape)}")
        return [_cover(size, self.window, self.stride) for size in shape]


def _cover(size: int, window: int, stride: int) -> Tensor:
    starts = torch.arange(0, size - window + stride, stride)
    place = torch.arange(size)[:, None]
    return (place >= starts) & (place < starts + window)


def _occluded(query: Query, covers: list[Tensor], part: slice) -> Tensor:
    """The samples with some of the windows replaced: (part, B, *entries)."""
    index = torch.arange(part.start, part.stop, device=query.x.device)
    columns = covers[-1].shape[1]
    drop = covers[-1].T[index % columns]  # (part, *features)
    if len(covers) == 2:
        drop = covers[0].T[index // columns].unsqueeze(2) & drop.unsqueeze(1)
    return torch.where(query.setting.features.expand(drop).unsqueeze(1), query.baseline, query.x)


def _average(drop: Tensor, covers: list[Tensor]) -> Tensor:
    """Window drops (B, *windows) to the mean over the windows on each feature (B, *features)."""
    for cover in covers:
        mean = cover / cover.sum(dim=1, keepdim=True)
        drop = torch.tensordot(drop, mean, dims=([1], [1]))  # the first axis of windows goes, its places come last
    return drop
