"""Masks of features."""

from __future__ import annotations

from torch import Tensor


def among_first(place: Tensor, counts: Tensor) -> Tensor:
    """(K, ...) True for features whose ``place`` (...) in an order is among the first ``counts`` (K,)."""
    return place < counts.view(-1, *[1] * place.dim())


def above(level: Tensor, thresholds: Tensor) -> Tensor:
    """(K, ...) True for features whose ``level`` (...) is strictly greater than ``thresholds`` (K,)."""
    return level > thresholds.view(-1, *[1] * level.dim())
