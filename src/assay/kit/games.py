"""Games: a model's performance on every subset of a few features, and what follows for an attribution.

The definitions of Li et al. (2024), section 4, for all subsets at once. A subset of d features is a whole number whose
bit i says whether feature i is in it, so a table over subsets has 2**d entries. Weights (information, attribution) are
whole numbers: sums and comparisons are exact.

Letters in shapes: G games that share one information, H attributions, N = 2**d subsets.
"""

from __future__ import annotations

import torch
from torch import Tensor

EMPTY = 0  # the subset without features


def members(like: Tensor) -> Tensor:
    """(N, d) True where a feature is in a subset; d and the device are those of ``like`` (..., d)."""
    d = like.shape[-1]
    return (torch.arange(2**d, device=like.device)[:, None] >> torch.arange(d, device=like.device)) % 2 == 1


def nested_pairs(like: Tensor) -> tuple[Tensor, Tensor]:
    """The 3**d pairs of an inner subset and an outer one that holds it; d and the device are those of ``like``."""
    subsets = torch.arange(2 ** like.shape[-1], device=like.device)
    inner, outer = torch.nonzero(subsets[:, None] & ~subsets == 0, as_tuple=True)
    return inner, outer


def subset_sums(weights: Tensor) -> Tensor:
    """Definition 4.7: the size (..., N) of every subset is the sum of its features' ``weights`` (..., d)."""
    return (weights[..., None, :] * members(weights)).sum(dim=-1)


def is_predictive(information: Tensor) -> Tensor:
    """Definitions 4.1 and 4.4: a feature is predictive if its information, never negative, is more than 0."""
    return information > 0


def is_attributed(attribution: Tensor) -> Tensor:
    """Definitions 4.2 and 4.5: a feature is attributed if its attribution, never negative, is more than 0."""
    return attribution > 0


def soundness(attribution: Tensor, information: Tensor) -> Tensor:
    """Definition 4.8 (H, N): of a subset's attribution (H, d), the share on predictive features; 0 without any."""
    return _share(subset_sums(attribution * is_predictive(information)), subset_sums(attribution))


def completeness(information: Tensor) -> Tensor:
    """Definition 4.9 (N,): of all ``information`` (d,), the share that lies in a subset; 0 if there is none."""
    return _share(subset_sums(information), information.sum())


def satisfies_assumption_4_10(performance: Tensor, information: Tensor) -> Tensor:
    """Assumption 4.10 (G,): of any two subsets, one that performs (G, N) strictly worse has strictly less information.

    The information of subsets that perform equally well may differ. The assumption is equivalent to: performance is a
    non-decreasing function of information.
    """
    less_information = _less(subset_sums(information))
    return (less_information | ~_less(performance)).flatten(1).all(dim=1)


def strictly_monotone(performance: Tensor, information: Tensor) -> Tensor:
    """(G,) True if a subset performs strictly worse exactly when it has strictly less information."""
    less_information = _less(subset_sums(information))
    return (less_information == _less(performance)).flatten(1).all(dim=1)


def least_attribution(performance: Tensor, attribution: Tensor) -> Tensor:
    """Theorem 4.11's minimum (G, H, N): the least attribution of a part of a subset that performs as well as the whole.

    The whole subset is such a part, so one always exists.
    """
    inner, outer = nested_pairs(attribution)
    sums = subset_sums(attribution)
    as_well = performance[:, inner] == performance[:, outer]
    parts = torch.where(as_well[:, None], sums[:, inner], sums[:, outer])  # a part that performs worse never counts
    start = sums.expand(len(performance), -1, -1)
    return start.scatter_reduce(2, outer.expand_as(parts), parts, "amin")


def minimal_share(performance: Tensor, attribution: Tensor) -> Tensor:
    """Theorem 4.11's value (G, H, N) for the soundness of every subset: its least attribution over its attribution."""
    return _share(least_attribution(performance, attribution), subset_sums(attribution))


def theorem_4_11(performance: Tensor, information: Tensor, attribution: Tensor) -> tuple[Tensor, Tensor]:
    """Where Theorem 4.11 applies, and where it is right (G, H, N): the minimal share of a subset is its soundness.

    It applies to subsets of attributed features of which at least one is predictive.
    """
    only_attributed = ~(members(information) & ~is_attributed(attribution)[:, None]).any(dim=-1)
    some_predictive = subset_sums(is_predictive(information).long()) > 0
    right = minimal_share(performance, attribution) == soundness(attribution, information)
    return (only_attributed & some_predictive).expand_as(right), right


def theorem_4_11_performing(performance: Tensor, information: Tensor, attribution: Tensor) -> tuple[Tensor, Tensor]:
    """Theorem 4.11, applied only where section 4.2 uses it: to subsets that perform better than the empty one."""
    applies, right = theorem_4_11(performance, information, attribution)
    return applies & (performance > performance[:, EMPTY, None])[:, None], right


def theorem_4_12(performance: Tensor, information: Tensor) -> tuple[Tensor, Tensor]:
    """Where Theorem 4.12 applies, and where it is right (G, N, N), for any two attributed sets, first and second.

    If the model performs strictly worse without the first set than without the second, the first is more complete.
    """
    without = performance.flip(1)  # the complement of subset s is N - 1 - s
    return _less(without), _less(-completeness(information)).expand(len(performance), -1, -1)


def last_feature_counts(performance: Tensor, information: Tensor) -> Tensor:
    """(G, N) True where leaving out the least predictive of a subset's predictive features lowers performance."""
    members_predictive = members(information) & is_predictive(information)
    least = torch.where(members_predictive, information, information.max() + 1).argmin(dim=1)
    rest = torch.arange(len(members_predictive), device=members_predictive.device) ^ torch.where(
        members_predictive.any(dim=1), 2**least, 0
    )
    return performance[:, rest] < performance


def _less(table: Tensor) -> Tensor:
    """(..., N, N) True where the first subset's entry is strictly below the second's."""
    return table[..., :, None] < table[..., None, :]


def _share(part: Tensor, whole: Tensor) -> Tensor:
    return torch.where(whole > 0, part.double() / whole.clamp(min=1), 0.0)
