"""Features: what an attribution is about.

The model reads entries; an attribution is about features. The entries of a pixel are its channels, of a column its
one-hot block, of a token its embedding. ``pool`` sums entries per feature, ``expand`` copies a feature's number to its
entries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor


class Features(Protocol):
    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one sample's features."""

    @property
    def entries(self) -> tuple[int, ...]:
        """Shape of one sample as the model reads it."""

    def pool(self, x: Tensor) -> Tensor:
        """(*K, *entries) -> (*K, *shape), summed per feature."""

    def expand(self, per_feature: Tensor) -> Tensor:
        """(*K, *shape) -> (*K, *entries), each entry gets the number of its feature (a view where possible)."""


@dataclass(frozen=True)
class Pixels:
    """A pixel is all channels at one position."""

    channels: int
    height: int
    width: int

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.height, self.width)

    @property
    def entries(self) -> tuple[int, ...]:
        return (self.channels, self.height, self.width)

    def pool(self, x: Tensor) -> Tensor:
        return x.sum(dim=-3)

    def expand(self, per_feature: Tensor) -> Tensor:
        return per_feature.unsqueeze(-3).expand(*per_feature.shape[:-2], *self.entries)


@dataclass(frozen=True)
class Columns:
    """A column is one number, or the block of entries that encodes one category."""

    groups: tuple[int, ...]  # feature of each entry, 0..features-1
    names: tuple[str, ...] = ()

    @classmethod
    def plain(cls, count: int, names: tuple[str, ...] = ()) -> Columns:
        return cls(tuple(range(count)), names)

    @property
    def shape(self) -> tuple[int, ...]:
        return (max(self.groups) + 1,)

    @property
    def entries(self) -> tuple[int, ...]:
        return (len(self.groups),)

    def pool(self, x: Tensor) -> Tensor:
        total = x.new_zeros(*x.shape[:-1], *self.shape)
        return total.index_add_(-1, self._index(x), x)

    def expand(self, per_feature: Tensor) -> Tensor:
        return per_feature.index_select(-1, self._index(per_feature))

    def _index(self, like: Tensor) -> Tensor:
        return torch.tensor(self.groups, device=like.device)


@dataclass(frozen=True)
class Tokens:
    """A token is its embedding."""

    length: int
    width: int

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.length,)

    @property
    def entries(self) -> tuple[int, ...]:
        return (self.length, self.width)

    def pool(self, x: Tensor) -> Tensor:
        return x.sum(dim=-1)

    def expand(self, per_feature: Tensor) -> Tensor:
        return per_feature.unsqueeze(-1).expand(*per_feature.shape, self.width)
