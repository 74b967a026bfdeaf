"""Growing sets of features, highest attribution first: by area, by attribution, or by whole segments.

A way to grow is an order (B, P) and how many of it are in (B, K): sets of equal size for all samples, or each sample's
own.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from assay.core.trial import Trial
from assay.kit.curves import parts_of
from assay.kit.ranks import descending, places
from assay.kit.segments import felzenszwalb, numbered, stretched
from assay.metrics._removal import need_images
from assay.metrics._soco import settled

SCALE, SIGMA, MIN_SIZE = 1.0, 0.8, 20  # of felzenszwalb, as AttributionLab cuts images up
CELLS = 8  # of the grid, along each side


def grown(trial: Trial, height: Tensor, expansion: str, removed: Sequence[float], ties: str) -> tuple[Tensor, Tensor]:
    """The order of features by ``height`` (B, P), how many are in when these shares are removed: (B, K), never 0."""
    samples, features = height.shape
    counts = (features - parts_of(features, removed)).to(height.device).expand(samples, -1)
    shuffle = None
    if ties == "random":
        shuffle = trial.scene.draws("ties").permutations(features).to(height.device)
    if expansion in ("felzenszwalb", "grid"):
        return by_segments(_segments(trial, expansion), height, counts, shuffle)
    order = descending(height, shuffle)
    if expansion == "mass":
        counts = by_mass(height.gather(1, order), 1 - torch.tensor(removed, dtype=torch.float64, device=height.device))
    return order, counts


def by_mass(falling: Tensor, shares: Tensor) -> Tensor:
    """How many features (B, K) it takes until their attribution is at least these shares (K,) of all attribution."""
    gained = falling.double().cumsum(dim=1)
    wanted = gained[:, -1:] * shares * (1 - 1e-12)  # a sum that is short by its rounding alone is enough
    return (torch.searchsorted(gained, wanted) + 1).clamp(max=gained.shape[1])


def by_segments(labels: Tensor, height: Tensor, counts: Tensor, shuffle: Tensor | None) -> tuple[Tensor, Tensor]:
    """Whole segments, highest mean attribution first: the fewest that hold at least ``counts`` (B, K) features."""
    segments = int(labels.max()) + 1
    sizes = _per_segment(torch.ones_like(height, dtype=torch.float64), labels, segments)
    mean = settled(_per_segment(height.double(), labels, segments) / sizes, height.dtype)
    mean = mean.where(sizes > 0, -torch.inf)  # samples with fewer segments than others
    if shuffle is not None:  # of equal segments, the one that the shuffle meets first: whatever the other samples are
        met = torch.full_like(sizes, torch.inf).scatter_reduce(1, labels, places(shuffle).double(), "amin")
        shuffle = met.argsort(dim=1)
    order = descending(mean, shuffle)
    turn = places(order).gather(1, labels)  # of each feature's segment
    pixels = turn.argsort(dim=1, stable=True)
    ends = sizes.gather(1, order).cumsum(dim=1).long().gather(1, turn.gather(1, pixels))
    return pixels, ends.gather(1, counts - 1)


def _per_segment(values: Tensor, labels: Tensor, segments: int) -> Tensor:
    return values.new_zeros(len(values), segments).scatter_add(1, labels, values)


def _segments(trial: Trial, kind: str) -> Tensor:
    """The segment of every feature (B, P), 0, 1, ... in each image."""
    setting, x = need_images(trial.scene.setting, f"{kind} segments"), trial.scene.samples.x
    if kind == "grid":
        down, across = ((torch.arange(side, device=x.device) * CELLS) // side for side in x.shape[2:])
        labels = (down[:, None] * CELLS + across).expand(len(x), -1, -1)
    else:
        pictures = setting.picture(x) if setting.picture else stretched(x)
        labels = felzenszwalb(pictures, SCALE, SIGMA, MIN_SIZE)
    return numbered(labels)[0].flatten(1)
