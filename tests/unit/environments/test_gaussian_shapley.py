"""Shapley values of a linear score under a Gaussian, against brute force."""

from __future__ import annotations

from itertools import permutations
from math import comb

import numpy as np
import pytest
import torch

from assay.environments._gaussian_shapley import conditional_maps, interventional_maps

WEIGHTS = torch.tensor([[1.5, -0.7, 0.0, 1.1], [0.4, 0.4, -2.0, 0.0]], dtype=torch.float64)
MEAN = np.array([0.3, -1.0, 2.0, 0.5])
X = np.array([1.2, 0.4, -0.9, 2.1])
correlations = pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])


def covariance(correlation: float, d: int = 4) -> np.ndarray:
    """Equal correlations, unequal spreads."""
    spread = np.linspace(0.5, 2.0, d)
    return (correlation + (1 - correlation) * np.eye(d)) * np.outer(spread, spread)


def brute_force(value: dict[frozenset[int], float], d: int) -> np.ndarray:
    """The mean contribution over all orders of the features."""
    total, orders = np.zeros(d), list(permutations(range(d)))
    for order in orders:
        for position, j in enumerate(order):
            before = frozenset(order[:position])
            total[j] += value[before | {j}] - value[before]
    return total / len(orders)


def subsets(d: int) -> list[frozenset[int]]:
    return [frozenset(j for j in range(d) if number >> j & 1) for number in range(2**d)]


def conditional_sample(known: list[int], sigma: np.ndarray, random: np.random.Generator, count: int) -> np.ndarray:
    """Rows from N(MEAN, sigma) given that the known entries are those of X."""
    rows, rest = np.tile(X, (count, 1)), [j for j in range(len(X)) if j not in known]
    if not rest:
        return rows
    mean, spread = MEAN[rest], sigma[np.ix_(rest, rest)]
    if known:
        slope = np.linalg.solve(sigma[np.ix_(known, known)], sigma[np.ix_(known, rest)]).T
        mean, spread = mean + slope @ (X - MEAN)[known], spread - slope @ sigma[np.ix_(known, rest)]
    rows[:, rest] = random.multivariate_normal(mean, spread, count)
    return rows


@correlations
def test_conditional_values_are_those_of_sampled_coalitions(correlation: float) -> None:
    sigma, random, count = covariance(correlation), np.random.default_rng(0), 40_000
    maps = conditional_maps(WEIGHTS, torch.from_numpy(sigma)).numpy()
    for weights, linear_map in zip(WEIGHTS.numpy(), maps, strict=True):
        scores = {s: conditional_sample(sorted(s), sigma, random, count) @ weights for s in subsets(4)}
        found = brute_force({s: float(rows.mean()) for s, rows in scores.items()}, 4)
        for j, expected in enumerate(linear_map @ (X - MEAN)):
            # A sum of independent means: a coalition of k others has share 1 / (4 C(3, k)).
            shares = {s: 1 / (4 * comb(3, len(s - {j}))) for s in scores}
            error = np.sqrt(sum(shares[s] ** 2 * rows.var() / count for s, rows in scores.items()))
            assert abs(expected - found[j]) < 3 * error


@correlations
def test_interventional_values_are_those_of_all_coalitions(correlation: float) -> None:
    del correlation  # they do not depend on it
    for weights, linear_map in zip(WEIGHTS.numpy(), interventional_maps(WEIGHTS).numpy(), strict=True):
        value = {s: float(sum(w * (X if j in s else MEAN)[j] for j, w in enumerate(weights))) for s in subsets(4)}
        np.testing.assert_allclose(linear_map @ (X - MEAN), brute_force(value, 4), rtol=1e-6, atol=1e-9)


@correlations
def test_values_add_up_to_the_score_minus_its_mean(correlation: float) -> None:
    for maps in (interventional_maps(WEIGHTS), conditional_maps(WEIGHTS, torch.from_numpy(covariance(correlation)))):
        found = (maps.numpy() @ (X - MEAN)).sum(axis=1)
        np.testing.assert_allclose(found, WEIGHTS.numpy() @ (X - MEAN), rtol=1e-9)


@correlations
def test_features_that_play_the_same_part_have_the_same_value(correlation: float) -> None:
    weights = torch.tensor([[2.0, 2.0, -1.0]], dtype=torch.float64)
    sigma = torch.full((3, 3), correlation, dtype=torch.float64).fill_diagonal_(1.0)
    x = torch.tensor([0.7, 0.7, -0.2], dtype=torch.float64)
    for maps in (interventional_maps(weights), conditional_maps(weights, sigma)):
        first, second, _ = maps[0] @ x
        torch.testing.assert_close(first, second, rtol=1e-9, atol=0)


def test_without_correlation_both_are_equal() -> None:
    sigma = torch.from_numpy(covariance(0.0))
    torch.testing.assert_close(conditional_maps(WEIGHTS, sigma), interventional_maps(WEIGHTS), rtol=1e-9, atol=1e-12)


def test_a_feature_with_weight_0_has_a_conditional_value_where_it_is_correlated_with_one_that_counts() -> None:
    # x_1 is not read. Alone it says rho w x_1, beside x_0 nothing: half of the difference is its value.
    weights = torch.tensor([[3.0, 0.0]], dtype=torch.float64)
    sigma = torch.tensor([[1.0, 0.8], [0.8, 1.0]], dtype=torch.float64)
    x = torch.tensor([0.5, 2.0], dtype=torch.float64)
    expected = torch.tensor([3 * 0.5 - 0.5 * 3 * 0.8 * 2.0, 0.5 * 3 * 0.8 * 2.0], dtype=torch.float64)
    # x_0 joins nothing (3 * 0.5) or x_1 (3 * 0.5 - 3 * 0.8 * 2); x_1 joins nothing (3 * 0.8 * 2) or x_0 (0).
    torch.testing.assert_close(conditional_maps(weights, sigma)[0] @ x, expected, rtol=1e-9, atol=0)
    assert float(interventional_maps(weights)[0, 1] @ x) == 0


def test_twelve_features_are_summed_over_all_coalitions() -> None:
    weights = torch.randn(3, 12, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    maps = conditional_maps(weights, torch.from_numpy(covariance(0.9, 12)))
    torch.testing.assert_close(maps.sum(dim=1), weights, rtol=1e-9, atol=1e-9)
