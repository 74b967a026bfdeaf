"""Features: what an attribution is about.

The model reads entries; an attribution is about features. The entries of a pixel are its channels, of a column its
one-hot block, of a token its embedding. ``pool`` sums entries per feature, ``expand`` copies a feature's number to its
entries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

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


@dataclass(frozen=True)
class Steps:
    """A series: a feature is a step of time, a channel, or a channel at a step."""

    channels: int
    steps: int
    channels_first: bool = True  # entries are (channels, steps), else (steps, channels)
    by: Literal["steps", "channels", "both"] = "steps"
    names: tuple[str, ...] = ()  # of channels

    @property
    def shape(self) -> tuple[int, ...]:
        return {"steps": (self.steps,), "channels": (self.channels,), "both": self.entries}[self.by]

    @property
    def entries(self) -> tuple[int, ...]:
        return (self.channels, self.steps) if self.channels_first else (self.steps, self.channels)

    @property
    def _summed(self) -> int | None:
        """The axis that a feature has all entries of; None: it has one entry."""
        if self.by == "both":
            return None
        return -2 if (self.by == "steps") == self.channels_first else -1

    def pool(self, x: Tensor) -> Tensor:
        return x if self._summed is None else x.sum(dim=self._summed)

    def expand(self, per_feature: Tensor) -> Tensor:
        if self._summed is None:
            return per_feature
        copies = per_feature.unsqueeze(self._summed)
        return copies.expand(*per_feature.shape[:-1], *self.entries)
