"""Wilcoxon's signed-rank test of paired values, two-sided or one-sided.

Differences of 0 are left out, as Wilcoxon did. Ties among the others share their average rank. Up to 50 differences the
probability is exact, given the ranks: all signs are counted. Beyond, it is normal, with a correction for continuity.
``scipy.stats.wilcoxon`` agrees where it is exact, but with ties it takes seconds for one pair, or approximates.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy  # its parts are imported where they are used: scipy.stats takes a second

from assay.stats.ranks import average_ranks, joined_within, rounded_differences, rounding_of

EXACT = 50  # up to so many differences

Numbers = npt.NDArray[np.float64]
Alternative = Literal["two-sided", "greater"]


@dataclass(frozen=True)
class SignedRank:
    """The result of a test."""

    p: float  # 1 if no difference is left
    effect: float  # rank-biserial correlation: 1 if left is always larger, -1 if it never is, 0 without a difference
    count: int  # of differences that are not 0


def signed_rank_test(left: Numbers, right: Numbers, alternative: Alternative = "two-sided") -> SignedRank:
    """Whether left and right differ, or whether left is greater. Both have finite numbers, in the same order."""
    ranks = _signed_ranks(left, right)
    if not len(ranks):
        return SignedRank(1.0, 0.0, 0)
    surplus = float(ranks.sum())
    one_sided = _upper_tail(-ranks if alternative == "two-sided" and surplus < 0 else ranks)
    p = one_sided if alternative == "greater" else min(1.0, 2 * one_sided)
    return SignedRank(p, surplus / float(np.abs(ranks).sum()), len(ranks))


def _signed_ranks(left: Numbers, right: Numbers) -> Numbers:
    """The ranks of the absolute differences, with the signs of the differences; those that differ by rounding tie."""
    rounded = rounded_differences(left, right)
    differences: Numbers = rounded[rounded != 0]
    if not len(differences):
        return differences
    sizes = joined_within(np.abs(differences), rounding_of(left, right))
    return np.asarray(np.sign(differences) * average_ranks(sizes), np.float64)


def _upper_tail(ranks: Numbers) -> float:
    """The probability that chance signs give as large a sum of signed ranks, or a larger one."""
    surplus, sizes = float(ranks.sum()), np.abs(ranks)
    if len(ranks) > EXACT:
        return float(scipy.special.ndtr(-(surplus - 1) / np.sqrt(np.square(sizes).sum())))
    negative_sum = round(float(sizes.sum()) - surplus)  # twice the sum of negative ranks, a whole number
    doubled = tuple(sorted(round(2 * float(size)) for size in sizes))
    return float(_cumulative(doubled)[negative_sum])


@lru_cache(maxsize=4096)
def _cumulative(ranks: tuple[int, ...]) -> Numbers:
    """By sum: the probability that the ranks with a positive sign sum up to this or less, if all signs are chance."""
    probability = np.zeros(sum(ranks) + 1)
    probability[0] = 1.0
    for rank in ranks:
        probability[rank:] = (probability[rank:] + probability[:-rank]) / 2
        probability[:rank] /= 2
    return np.cumsum(probability)
