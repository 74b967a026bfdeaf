"""Differences between two models: one sample, one class, one pixel at a time, in float64. Nothing of ours."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp

import numpy as np


def softmax(logits: Sequence[float], temperature: float) -> list[float]:
    powers = [exp((logit - max(logits)) / temperature) for logit in logits]
    return [power / sum(powers) for power in powers]


def mean_difference(left: Sequence[float], right: Sequence[float]) -> float:
    total = 0.0
    for one, other in zip(left, right, strict=True):
        total += one - other if one > other else other - one
    return total / len(left)


def per_pixel(attribution: np.ndarray) -> list[float]:
    """Channels (C, H, W) added up."""
    _, height, width = attribution.shape
    return [float(sum(attribution[:, row, column])) for row in range(height) for column in range(width)]


def stretched(values: Sequence[float]) -> list[float] | None:
    """To 0..1; None where all are equal."""
    low, high = min(values), max(values)
    return [(value - low) / (high - low) for value in values] if high > low else None


def top_shares(values: Sequence[float], k: int) -> list[float]:
    """How much of a place among the ``k`` largest each has: equals that do not all fit share what is left."""
    shares = []
    for value in values:
        larger = sum(other > value for other in values)
        equal = sum(other == value for other in values)
        left = min(max(k - larger, 0), equal)
        shares.append(left / equal)
    return shares


def common_top(own: np.ndarray, other: np.ndarray, k: int) -> float | None:
    """Activations (n, channels): the mean share of top images in common, over channels that tell images apart."""
    found = []
    for channel in range(own.shape[1]):
        left, right = own[:, channel].tolist(), other[:, channel].tolist()
        if min(left) == max(left) or min(right) == max(right):
            continue
        tops = [
            [share if value > min(side) else 0.0 for value, share in zip(side, top_shares(side, k), strict=True)]
            for side in (left, right)
        ]
        found.append(sum(min(pair) for pair in zip(*tops, strict=True)) / max(map(sum, tops)))
    return sum(found) / len(found) if found and len(own) > k else None
