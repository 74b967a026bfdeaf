"""Growing sets of features, highest attribution first: by area, by attribution, or by whole segments.

A growing set is an order (B, P) and how many features of it are in after each step (B, K): the same numbers for all
samples, or different ones.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from assay.core.trial import Trial
from assay.kit.curves import counts_of_shares
from assay.kit.feature_orders import descending_order, positions
from assay.kit.segments import felzenszwalb, renumbered, rgb_pictures
from assay.metrics._removal import need_images
from assay.metrics._soco import on_grid

SCALE, SIGMA, MIN_SIZE = 1.0, 0.8, 20  # of felzenszwalb, as AttributionLab segments images
CELLS = 8  # of the grid of segments, along each side


def growing_sets(
    trial: Trial, strength: Tensor, expansion: str, removed: Sequence[float], ties: str
) -> tuple[Tensor, Tensor]:
    """The order of features by ``strength`` (B, P), and how many (B, K) are in when these shares are removed: at least
    1."""
    samples, features = strength.shape
    counts = (features - counts_of_shares(features, removed)).to(strength.device).expand(samples, -1)
    shuffle = None
    if ties == "random":
        shuffle = trial.scene.draws("ties").permutations(features).to(strength.device)
    if expansion in ("felzenszwalb", "grid"):
        return order_by_segments(_segments(trial, expansion), strength, counts, shuffle)
    order = descending_order(strength, shuffle)
    if expansion == "mass":
        counts = counts_by_mass(
            strength.gather(1, order), 1 - torch.tensor(removed, dtype=torch.float64, device=strength.device)
        )
    return order, counts


def counts_by_mass(falling: Tensor, shares: Tensor) -> Tensor:
    """How many features (B, K) have at least these shares (K,) of all attribution, which is sorted, highest first."""
    cumulative = falling.double().cumsum(dim=1)
    needed = cumulative[:, -1:] * shares * (1 - 1e-12)  # a sum that falls short by rounding alone is enough
    return (torch.searchsorted(cumulative, needed) + 1).clamp(max=cumulative.shape[1])


def order_by_segments(
    labels: Tensor, strength: Tensor, counts: Tensor, shuffle: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Whole segments, highest mean attribution first: the fewest that have at least ``counts`` (B, K) features."""
    segments = int(labels.max()) + 1
    sizes = _per_segment(torch.ones_like(strength, dtype=torch.float64), labels, segments)
    mean = on_grid(_per_segment(strength.double(), labels, segments) / sizes, strength.dtype)
    mean = mean.where(sizes > 0, -torch.inf)  # samples with fewer segments than others have empty ones
    if shuffle is not None:  # among equal segments, the one whose features come first in the sample's shuffle
        earliest = torch.full_like(sizes, torch.inf).scatter_reduce(1, labels, positions(shuffle).double(), "amin")
        shuffle = earliest.argsort(dim=1)
    order = descending_order(mean, shuffle)
    rank = positions(order).gather(1, labels)  # of each feature's segment in the order
    feature_order = rank.argsort(dim=1, stable=True)
    ends = sizes.gather(1, order).cumsum(dim=1).long().gather(1, rank.gather(1, feature_order))
    return feature_order, ends.gather(1, counts - 1)


def _per_segment(values: Tensor, labels: Tensor, segments: int) -> Tensor:
    return values.new_zeros(len(values), segments).scatter_add(1, labels, values)


def _segments(trial: Trial, kind: str) -> Tensor:
    """The segment of every feature (B, P), numbered 0, 1, ... in each image."""
    setting, x = need_images(trial.scene.setting, f"{kind} segments"), trial.scene.samples.x
    if kind == "grid":
        down, across = ((torch.arange(side, device=x.device) * CELLS) // side for side in x.shape[2:])
        labels = (down[:, None] * CELLS + across).expand(len(x), -1, -1)
    else:
        pictures = setting.picture(x) if setting.picture else rgb_pictures(x)
        labels = felzenszwalb(pictures, SCALE, SIGMA, MIN_SIZE)
    return renumbered(labels)[0].flatten(1)
