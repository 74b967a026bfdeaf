"""The process's random streams in tests: nobody moves them, and what has to draw from them draws after a seed."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

Streams = tuple[torch.Tensor, bytes, object]
NAMES = ("torch", "numpy", "random")
MERSENNE = 625 * 4  # bytes of numpy's state: 624 words and a position. Read in place: get_state takes 100 times longer


def streams() -> Streams:
    """Where the global streams stand."""
    place = np.random.get_bit_generator().ctypes.state_address
    return torch.get_rng_state(), ctypes.string_at(place, MERSENNE), random.getstate()


def moved(before: Streams, after: Streams) -> list[str]:
    """The names of the streams that stand elsewhere."""
    same = torch.equal(before[0], after[0]), before[1] == after[1], before[2] == after[2]
    return [name for name, equal in zip(NAMES, same, strict=True) if not equal]


def start(seed: int = 0) -> None:
    """Put all global streams where they stand whenever a test begins."""
    torch.default_generator.manual_seed(seed)
    np.random.seed(seed)
    random.seed(seed)


@contextmanager
def seeded(seed: int = 0) -> Iterator[None]:
    """For layers, whose first weights come from torch's global stream: the same in every test, whatever ran before.

    Also a decorator: ``@seeded()`` above a function that makes a model.
    """
    before = torch.get_rng_state()
    torch.default_generator.manual_seed(seed)
    try:
        yield
    finally:
        torch.set_rng_state(before)
