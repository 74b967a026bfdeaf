"""The entries of features, pairs of features, and the values in their entries."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from assay.core.errors import NotApplicable
from assay.core.features import Features
from assay.core.trial import Scene


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of features, chosen for each sample on its own."""

    first: Tensor  # (K, B) features
    second: Tensor
    left: Tensor  # (K, B, width) entries of the first, of the second
    right: Tensor
    equal_width: Tensor  # (K, B) both have equally many entries

    def __len__(self) -> int:
        return len(self.first)

    def subset(self, index: Tensor) -> Pairs:
        """The pairs with these indices, or of this mask."""
        return Pairs(
            self.first[index], self.second[index], self.left[index], self.right[index], self.equal_width[index]
        )


def random_pairs(scene: Scene, count: int) -> Pairs:
    """``count`` random pairs of two different features, or all pairs if there are no more."""
    features, samples = scene.setting.features, len(scene.samples)
    size = torch.Size(features.shape).numel()
    if size < 2:
        raise NotApplicable("needs at least two features")
    if size * (size - 1) // 2 <= count:
        both = torch.combinations(torch.arange(size)).T[:, :, None].expand(2, -1, samples)
    else:
        start, step = scene.draws("pairs").uniform(2, count).double().permute(1, 2, 0)  # (count, B) both
        first = (start * size).long()
        both = torch.stack([first, (first + 1 + (step * (size - 1)).long()) % size])
    first, second = both.to(scene.samples.x.device)
    entries, width = feature_entries(features, first.device)
    return Pairs(first, second, entries[first], entries[second], width[first] == width[second])


def feature_entries(features: Features, device: torch.device) -> tuple[Tensor, Tensor]:
    """The entries (P, width) of every feature, and how many it has (P,); shorter rows repeat their last entry."""
    size = torch.Size(features.shape).numel()
    owner = features.expand(torch.arange(size, device=device).view(features.shape)).flatten()
    width = owner.bincount(minlength=size)
    position = torch.arange(int(width.max()), device=device).minimum(width[:, None] - 1)
    start = width.cumsum(dim=0) - width
    return owner.argsort(stable=True)[start[:, None] + position], width


def values_at(x: Tensor, entries: Tensor) -> Tensor:
    """The values of x (K, B, *entries) in the entries (K, B, width)."""
    return x.flatten(2).gather(2, entries)


def with_values(x: Tensor, entries: Tensor, values: Tensor) -> Tensor:
    """Inputs (K, B, *entries) with other values in these entries."""
    return x.flatten(2).scatter(2, entries, values).view(x.shape)
