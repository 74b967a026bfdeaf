"""Remove and retrain as the papers say it: one row, one feature, one model at a time, in float64. Nothing of ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

Learn = Callable[[list[np.ndarray], list[int], int], Callable[[np.ndarray], int]]  # rows, labels, repeat -> model


def ranking(values: Sequence[float], absolute: bool, lowest: bool) -> list[int]:
    """Features in the order in which they are removed; of equals, the first one first."""
    keys = [abs(value) if absolute else value for value in values]
    left, result = list(range(len(keys))), []
    while left:
        best = left[0]
        for feature in left:
            if (keys[feature] < keys[best]) if lowest else (keys[feature] > keys[best]):
                best = feature
        result.append(best)
        left.remove(best)
    return result


def mean_shares(maps: Sequence[Sequence[float]], absolute: bool) -> list[float]:
    """The mean over maps of each feature's share of the map's total size."""
    totals = [0.0] * len(maps[0])
    for one in maps:
        size = sum(abs(value) for value in one)
        for feature, value in enumerate(one):
            totals[feature] += (abs(value) if absolute else value) / size
    return [total / len(maps) for total in totals]


def without(
    x: np.ndarray, order: Sequence[int], share: float, members: list[np.ndarray], canvas: np.ndarray
) -> np.ndarray:
    """The row with the first features of the order replaced, as many whole ones as the share allows."""
    found = x.copy()
    for feature in order[: int(Fraction(str(share)) * len(members))]:
        found[members[feature]] = canvas[members[feature]]
    return found


def roar(
    reference: tuple[Sequence[np.ndarray], Sequence[int], Sequence[Sequence[float]]],
    evaluated: tuple[Sequence[np.ndarray], Sequence[int], Sequence[Sequence[float]]],
    members: list[np.ndarray],
    canvas: np.ndarray,
    learn: Learn,
    shares: Sequence[float],
    ranked: str,
    lowest: bool,
    absolute: bool,
    repeats: int,
) -> list[list[list[bool]]]:
    """Whether each evaluated row is told right, by share and repeat; rows, labels and maps (one number per feature)."""
    common = ranking(mean_shares(reference[2], absolute), absolute, lowest) if ranked == "global" else None
    right = [[[False] * repeats for _ in shares] for _ in evaluated[0]]
    for place, share in enumerate(shares):
        rows = []
        for x, values in zip(reference[0], reference[2], strict=True):
            rows.append(without(x, common or ranking(values, absolute, lowest), share, members, canvas))
        for repeat in range(repeats):
            model = learn(rows, list(reference[1]), repeat)
            for index, (x, label, values) in enumerate(zip(*evaluated, strict=True)):
                seen = without(x, common or ranking(values, absolute, lowest), share, members, canvas)
                right[index][place][repeat] = model(seen) == label
    return right


def mean_height(heights: Sequence[float], shares: Sequence[float]) -> float:
    """The area under a curve, trapezoid by trapezoid, divided by its width."""
    if len(shares) == 1:
        return heights[0]
    area = 0.0
    for index in range(1, len(shares)):
        area += (shares[index] - shares[index - 1]) * (heights[index] + heights[index - 1]) / 2
    return area / (shares[-1] - shares[0])


def balanced_accuracy(right: Sequence[bool], labels: Sequence[int]) -> float:
    """The mean over classes of the share of right answers."""
    shares = []
    for one in sorted(set(labels)):
        of_class = [answer for answer, label in zip(right, labels, strict=True) if label == one]
        shares.append(sum(of_class) / len(of_class))
    return sum(shares) / len(shares)


def auroc(margins: Sequence[float], labels: Sequence[int]) -> float:
    """How often a row of class 1 has the larger margin than one of class 0; a tie counts half."""
    wins = pairs = 0.0
    for one, label in zip(margins, labels, strict=True):
        for other, other_label in zip(margins, labels, strict=True):
            if label == 1 and other_label == 0:
                wins += 1.0 if one > other else 0.5 if one == other else 0.0
                pairs += 1
    return wins / pairs
