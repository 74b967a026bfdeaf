"""Does a metric notice that a map was damaged? How far its curves of the original and of damaged maps lie apart.

The distance of two curves is the symmetric Hausdorff distance of their points (x, y), unscaled: the farthest that a
point of either curve is from the other. Two values without a curve are as far apart as their difference. Three curves
are compared in pairs; the smallest of the three distances says whether the metric tells all three apart (Li et al.,
2024, table 1; the paper gives no formula, and which Hausdorff distance is ours).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from assay.core.evidence import Array, Score
from assay.stats.seed_mean import seed_mean

Points = npt.NDArray[np.float64]  # (K, 2) of a curve, or (1, 1): a value; without rows: none is defined
STATES = ("original", "remove", "introduce")
PAIRS = tuple(combinations(STATES, 2))
NO_POINTS: Points = np.zeros((0, 2))


@dataclass(frozen=True)
class Response:
    """How far apart a metric sees an original and two damaged maps."""

    pairs: Mapping[tuple[str, str], Score]
    minimum: Score  # of the three, in each seed
    of_means: float | None = None  # the minimum for curves averaged over seeds: less noise, no interval


def curve_points(score: Score) -> Points:
    """The points of a score's curve where it is defined."""
    assert score.curve is not None
    assert score.at is not None
    shown = slice(None) if score.curve_defined is None else score.curve_defined
    return np.stack([score.at[shown], score.curve[shown]], axis=1).astype(np.float64)


def read_seed_curves(arrays: Mapping[str, Array]) -> list[Points]:
    """The points of each seed's curve, from the arrays of a score; a seed without a curve has none."""
    both = np.asarray(arrays.get("seed_curves", np.zeros((0, 2, 0))), np.float64)  # (S, 2, K)
    return [points[np.isfinite(points).all(axis=1)] for points in both.transpose(0, 2, 1)]


def hausdorff(left: Points, right: Points) -> float | None:
    """The larger of both directed distances; None where a side has no points."""
    if not len(left) or not len(right):
        return None
    distances = np.linalg.norm(left[:, None] - right[None], axis=-1)
    return float(max(distances.min(axis=1).max(), distances.min(axis=0).max()))


def distances(points: Mapping[str, Points]) -> dict[tuple[str, str], float | None]:
    """Of every pair of states."""
    return {(left, right): hausdorff(points[left], points[right]) for left, right in PAIRS}


def smallest(of_pairs: Mapping[tuple[str, str], float | None]) -> float | None:
    """The smallest distance; None unless every pair has one."""
    known = [distance for distance in of_pairs.values() if distance is not None]
    return min(known) if len(known) == len(of_pairs) else None


def response(
    per_seed: Sequence[Mapping[str, Points]], of_means: Mapping[str, Points], independent: bool = True
) -> Response:
    """The response from the points of each state: in each seed, and averaged over seeds.

    ``independent``: whether seeds have samples or models of their own; without, they allow no interval.
    """
    by_seed = [distances(points) for points in per_seed]

    def mean(numbers: Sequence[float | None]) -> Score:
        return seed_mean(numbers, (0.0, float("inf")), independent)

    pairs = {pair: mean([of_pairs[pair] for of_pairs in by_seed]) for pair in PAIRS}
    return Response(pairs, mean([smallest(of_pairs) for of_pairs in by_seed]), smallest(distances(of_means)))
