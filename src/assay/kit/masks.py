"""Masks of features."""

from __future__ import annotations

from torch import Tensor


def among_first(place: Tensor, counts: Tensor) -> Tensor:
    """(K, ...) True for features whose ``place`` (B, ...) in an order is among the first ``counts`` (K,) or (K, B)."""
    return place < counts.reshape(*counts.shape, *[1] * (place.dim() + 1 - counts.dim()))


def above(level: Tensor, thresholds: Tensor) -> Tensor:
    """(K, ...) True for features whose ``level`` (...) is strictly greater than ``thresholds`` (K,)."""
    return level > thresholds.view(-1, *[1] * level.dim())
