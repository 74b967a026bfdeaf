"""Random numbers that depend on what is computed, never on what ran before.

Every random number comes from a generator seeded by the digest of a key such as
``("color_count", seed, index, "fill")``. There is no global seed. Numbers are drawn on the CPU, so that the device
does not change them.
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

    Row ``i`` depends only on the i-th key and on earlier draws, not on the other rows: a sample draws the same numbers
    in a block of 1 and in a block of 64.
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
    """The source of a component's random numbers: its role, its spec, the environment and the seeds.

    A metric's stream never names the method that it judges, so that all methods are judged with the same draws.
    """

    role: str  # method, metric or fit
    component: str = ""  # the text of its spec
    environment: str = ""
    seed: int = 0
    data_seed: int | None = None  # None where no evaluated sample is seen, as in a fit
    part: Key = ()  # a part of the component's work: one of many noisy copies, for example

    @property
    def key(self) -> Key:
        seeds = (self.seed,) if self.data_seed is None else (self.seed, self.data_seed)
        return (self.role, self.component, self.environment, *seeds, *self.part)

    def within(self, name: str, *part: str | int) -> Stream:
        """The stream of a part of the work. A name comes first, because a number could be taken for a data seed."""
        return replace(self, part=(*self.part, name, *part))

    def before_samples(self) -> Stream:
        """The component's stream for work on the reference rows, without evaluated samples."""
        return replace(self, data_seed=None)

    def for_fit(self) -> Stream:
        """The stream of this method's fit."""
        return replace(self.before_samples(), role="fit")

    def seed_for(self, *purpose: str | int) -> int:
        return seed_of(*self.key, *purpose)

    def generator(self, *purpose: str | int) -> Generator:
        """Random numbers shared by all samples."""
        return generator(*self.key, *purpose)

    def draws(self, purpose: str, indices: Sequence[int]) -> Draws:
        """Random numbers per sample, independent of the block."""
        return Draws([(*self.key, purpose, index) for index in indices])


@contextmanager
def global_streams_restored() -> Iterator[None]:
    """Restores the global random streams on exit: code inside may draw from them, as torch's layers do at creation."""
    numpy_state, python_state = np.random.get_state(), random.getstate()
    with torch.random.fork_rng():
        try:
            yield
        finally:
            np.random.set_state(numpy_state)
            random.setstate(python_state)


@contextmanager
def global_streams_seeded(*key: str | int) -> Iterator[None]:
    """Seeds the global random streams by the key, and restores them on exit."""
    with global_streams_restored():
        torch.random.set_rng_state(generator(*key).get_state())
        np.random.set_state(np.random.RandomState(seed_of(*key) % 2**32).get_state())
        random.setstate(random.Random(seed_of(*key)).getstate())
        yield
