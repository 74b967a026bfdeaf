"""Randomness that depends on what is asked, never on what ran before.

Every random number comes from a generator seeded by the digest of a key such as
``("color_count", seed, index, "fill")``. There is no global seed. Numbers are drawn on the CPU, so that a device does
not change them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Generator, Tensor

from assay.core.records import digest

Key = tuple[str | int, ...]


def seed_of(*key: str | int) -> int:
    """A 63-bit seed for a key."""
    return int(digest(list(key))[:16], 16) >> 1


def generator(*key: str | int) -> Generator:
    """A fresh CPU generator for a key."""
    return Generator().manual_seed(seed_of(*key))


class Draws:
    """Random tensors with one row per sample, each row from the sample's own stream.

    Row ``i`` depends only on the i-th key and on the draws made before, not on the other rows: a sample draws the
    same numbers in a block of 1 and in a block of 64.
    """

    def __init__(self, keys: Sequence[Key]) -> None:
        self._streams = [generator(*key) for key in keys]

    def __len__(self) -> int:
        return len(self._streams)

    def uniform(self, *shape: int) -> Tensor:
        """(B, *shape) in [0, 1)."""
        return torch.stack([torch.rand(shape, generator=stream) for stream in self._streams])

    def normal(self, *shape: int) -> Tensor:
        """(B, *shape), standard normal."""
        return torch.stack([torch.randn(shape, generator=stream) for stream in self._streams])

    def permutations(self, n: int) -> Tensor:
        """(B, n): one permutation of 0..n-1 per sample."""
        return torch.stack([torch.randperm(n, generator=stream) for stream in self._streams])


@dataclass(frozen=True)
class Stream:
    """Where a component's random numbers come from: who draws, in which environment, with which seeds.

    A metric's stream never names the method that it judges: all methods are judged by the same draws.
    """

    role: str  # method, metric or fit
    component: str = ""  # the text of its spec
    environment: str = ""
    seed: int = 0
    data_seed: int | None = None  # None for what sees no evaluated sample, as a fit
    part: Key = ()  # of the component's own work: one of many noisy copies, for example

    @property
    def key(self) -> Key:
        seeds = (self.seed,) if self.data_seed is None else (self.seed, self.data_seed)
        return (self.role, self.component, self.environment, *seeds, *self.part)

    def within(self, name: str, *part: str | int) -> Stream:
        """The stream of a part of the work. It has a name first: a number could be taken for a data seed."""
        return replace(self, part=(*self.part, name, *part))

    def before_samples(self) -> Stream:
        """The same component's stream where it sees the reference rows and no evaluated sample."""
        return replace(self, data_seed=None)

    def for_fit(self) -> Stream:
        """The stream of the fit of this method."""
        return replace(self.before_samples(), role="fit")

    def seed_for(self, *purpose: str | int) -> int:
        return seed_of(*self.key, *purpose)

    def generator(self, *purpose: str | int) -> Generator:
        """Random numbers that all samples share."""
        return generator(*self.key, *purpose)

    def draws(self, purpose: str, indices: Sequence[int]) -> Draws:
        """Random numbers of each sample's own, whatever block it is in."""
        return Draws([(*self.key, purpose, index) for index in indices])


@contextmanager
def lent() -> Iterator[None]:
    """Code inside may draw from global streams, as layers of torch do when they are made; they are put back."""
    numpy_state, python_state = np.random.get_state(), random.getstate()
    with torch.random.fork_rng():
        try:
            yield
        finally:
            np.random.set_state(numpy_state)
            random.setstate(python_state)


@contextmanager
def seeded(*key: str | int) -> Iterator[None]:
    """The same; what is drawn are the same numbers for the same key."""
    with lent():
        torch.random.set_rng_state(generator(*key).get_state())
        np.random.set_state(np.random.RandomState(seed_of(*key) % 2**32).get_state())
        random.setstate(random.Random(seed_of(*key)).getstate())
        yield
