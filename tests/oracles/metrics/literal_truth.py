"""Metrics against truth as their papers say them: one sample, one feature, one number at a time. Nothing of ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import combinations, permutations
from math import hypot, sqrt

import numpy as np

from oracles.metrics import literal


def ranks(values: Sequence[float]) -> list[float]:
    """One more than the number of smaller values; equal ones share the average of their places."""
    result = []
    for value in values:
        smaller = sum(other < value for other in values)
        equal = sum(other == value for other in values)
        result.append(smaller + (equal + 1) / 2)
    return result


def correlation(left: Sequence[float], right: Sequence[float]) -> float | None:
    """Pearson's; None if a side is constant."""
    a, b = sum(left) / len(left), sum(right) / len(right)
    common = sum((u - a) * (v - b) for u, v in zip(left, right, strict=True))
    squares = [sum((u - a) ** 2 for u in left), sum((v - b) ** 2 for v in right)]
    return None if min(squares) < 1e-20 else common / sqrt(squares[0] * squares[1])


def spearman(claimed: Sequence[float], true: Sequence[float]) -> float | None:
    return correlation(ranks(claimed), ranks(true))


@cache
def best_spearman(true: tuple[float, ...]) -> float:
    """The best of all maps without ties, by trying them; 0 for a constant truth."""
    found = [correlation(order, ranks(true)) for order in permutations(range(len(true)))]
    return max(value or 0.0 for value in found)


def largest(values: Sequence[float], count: int, ties: str) -> list[set[int]]:
    """The set of the ``count`` largest: in reading order, or every set that random ties can give, equally likely."""
    if ties == "stable":
        return [set(literal.order(values, absolute=False)[:count])]
    return list(_possible(values, count))


def _possible(values: Sequence[float], count: int) -> Iterator[set[int]]:
    for chosen in combinations(range(len(values)), count):
        rest = [values[j] for j in range(len(values)) if j not in chosen]
        if not rest or not chosen or min(values[j] for j in chosen) >= max(rest):
            yield set(chosen)


def top_k(claimed: Sequence[float], true: Sequence[float], k: int, ties: str) -> float | None:
    """The mean overlap of the sets of the k largest."""
    if len(set(true)) == 1:
        return None
    overlaps = [len(a & b) / k for a in largest(claimed, k, ties) for b in largest(true, k, ties)]
    return sum(overlaps) / len(overlaps)


def precision_at_support(claimed: Sequence[float], true: Sequence[float], ties: str) -> float | None:
    support = {j for j, value in enumerate(true) if value > 0}
    if len(support) in (0, len(true)):
        return None
    shares = [len(chosen & support) / len(chosen) for chosen in largest(claimed, len(support), ties)]
    return sum(shares) / len(shares)


def mass(claimed: Sequence[float], inside: Sequence[bool]) -> float | None:
    """The share of what is claimed that lies inside; None if nothing is claimed, or if nothing or all is inside."""
    total = sum(claimed)
    if total == 0 or len(set(inside)) == 1:
        return None
    return sum(value for value, counts in zip(claimed, inside, strict=True) if counts) / total


def pointing(claimed: np.ndarray, true: np.ndarray, radius: float) -> float | None:
    """The share of the largest values (H, W) with a true pixel within the radius."""
    height, width = true.shape

    def hit(y: int, x: int) -> bool:
        return any(true[v, u] and hypot(v - y, u - x) <= radius for v in range(height) for u in range(width))

    hits = [[hit(y, x) for x in range(width)] for y in range(height)]
    if len({value for row in hits for value in row}) == 1:
        return None
    found = [hits[y][x] for y in range(height) for x in range(width) if claimed[y, x] == claimed.max()]
    return sum(found) / len(found)


def changes(answer: Callable[[np.ndarray], float], image: np.ndarray, order: Sequence[int], count: int) -> int:
    """F.5: take pixels away one by one, ask the model each time, count how often its answer changes."""
    image = image.copy()
    previous, changed = answer(image), 0
    for pixel in order[:count]:
        image.flat[pixel] = 0
        output = answer(image)
        changed += output != previous
        previous = output
    return changed
