"""Metrics that ask model or method again, one sample, one feature, one number at a time."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

import numpy as np

Ask = Callable[[np.ndarray], float]


def forecast_error(told: list[float], change: list[float], factor: str, beside: list[list[float]]) -> float:
    """Mean of (factor * told + multiples of each of ``beside`` - change) ** 2, all found by least squares at once."""
    aim = np.array(change)
    if factor == "none":
        return _rest(aim - np.array(told), beside)[0]
    rest, best = _rest(aim, [told, *beside])
    return _rest(aim, beside)[0] if factor == "positive" and best[0] < 0 else rest


def _rest(aim: np.ndarray, columns: list[list[float]]) -> tuple[float, np.ndarray]:
    if not columns:
        return float((aim**2).mean()), np.zeros(0)
    table = np.array(columns).T
    best = np.linalg.lstsq(table, aim, rcond=None)[0]
    return float(((table @ best - aim) ** 2).mean()), best


def added_up(gone: np.ndarray, features: list[np.ndarray], values: list[float]) -> float:
    """What a map says about the features that are gone (True in all their entries)."""
    total = 0.0
    for mask, value in zip(features, values, strict=True):
        parts = gone[mask]
        assert parts.all() or not parts.any(), "a feature is removed as a whole"
        if parts.any():
            total += value
    return total


def distance(left: np.ndarray, right: np.ndarray) -> float:
    return sqrt(sum((a - b) ** 2 for a, b in zip(left.ravel().tolist(), right.ravel().tolist(), strict=True)))


def largest_move(plain: np.ndarray, others: list[np.ndarray]) -> float | None:
    size = distance(plain, np.zeros_like(plain))
    return None if size == 0 else max(distance(other, plain) for other in others) / size


def likeness(left: list[float], right: list[float], by: str, absolute: bool) -> float | None:
    """Rank correlation or cosine; None where a side says nothing."""
    if absolute:
        left, right = [abs(a) for a in left], [abs(b) for b in right]
    if by == "cosine":
        size = sqrt(sum(a * a for a in left)) * sqrt(sum(b * b for b in right))
        return None if size == 0 else sum(a * b for a, b in zip(left, right, strict=True)) / size
    if len(set(left)) == 1 or len(set(right)) == 1:
        return None
    a, b = _ranks(left), _ranks(right)
    mean = (len(a) + 1) / 2
    above = sum((p - mean) * (q - mean) for p, q in zip(a, b, strict=True))
    return above / sqrt(sum((p - mean) ** 2 for p in a) * sum((q - mean) ** 2 for q in b))


def _ranks(values: list[float]) -> list[float]:
    """1 + how many are smaller, plus half of the others that are equal."""
    return [
        1 + sum(other < value for other in values) + (sum(other == value for other in values) - 1) / 2
        for value in values
    ]


def relative_gap(left: list[float], right: list[float]) -> float | None:
    """The distance of two vectors over the longer one's length."""
    zero = np.zeros(len(left))
    a, b = np.array(left), np.array(right)
    longer = max(distance(a, zero), distance(b, zero))
    return None if longer == 0 else distance(a, b) / longer


def share_on(values: list[float], tried: list[int], dummies: list[int]) -> float:
    total = sum(abs(values[j]) for j in tried)
    return sum(abs(values[j]) for j in tried if j in dummies) / total if total else 0.0


def unequal_share(pairs: list[tuple[float, float]]) -> float:
    total = sum(abs(a) + abs(b) for a, b in pairs)
    return sum(abs(a - b) for a, b in pairs) / total if total else 0.0
