"""Global random streams, lent to code that draws from them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

from assay.core.rng import generator, seed_of


@contextmanager
def lent() -> Iterator[None]:
    """Code inside may draw, as every layer of torch does when it is made; afterwards the streams are as they were."""
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
