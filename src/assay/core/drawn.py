"""What the seed of an environment draws: a model, or samples only."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any


def draws_model(environment: Any) -> bool:
    """Whether another seed is another model: other weights, another rule, another training.

    An environment says so by ``draws_model``; of one that says nothing it is assumed, which is the careful choice.
    """
    return bool(getattr(environment, "draws_model", True))


def identities(environment: Any, indices: Sequence[int], seed: int) -> list[Hashable]:
    """What tells samples from one another, whatever the seed.

    Two data seeds have different samples, unless an environment draws them from a finite set: then its
    ``identities(indices, seed)`` says which ones these are. Environments around others have the samples of those.
    """
    inner = environment
    while not hasattr(inner, "identities") and getattr(inner, "wraps", False) and hasattr(inner, "of"):
        inner = inner.of
    if hasattr(inner, "identities"):
        return list(inner.identities(indices, seed))
    return [(seed, index) for index in indices]
