"""Ranks with ties, against SciPy."""

from __future__ import annotations

import warnings
from itertools import permutations

import numpy as np
import pytest
import torch
from scipy.stats import rankdata, spearmanr
from torch import Tensor

from assay.kit.feature_orders import among_largest, average_ranks, spearman, spearman_ceiling
from oracles.metrics.scenes import numbers


def tied(seed: int, *shape: int) -> Tensor:
    return numbers(seed, *shape).mul(1.5).round()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.long])
@pytest.mark.parametrize("count", [1, 2, 5, 200])
def test_ranks_are_scipys(count: int, dtype: torch.dtype) -> None:
    values = tied(1, 4, 3, count).to(dtype)
    values[0, 0] = -0.0
    values[0, 0, 0] = 0.0  # equal to -0
    ranks = average_ranks(values)
    assert ranks.dtype == torch.float64
    np.testing.assert_array_equal(ranks, rankdata(values, axis=-1))
    np.testing.assert_array_equal(average_ranks(values[0, 1]), ranks[0, 1])  # without a batch


@pytest.mark.parametrize("count", [2, 5, 200])
def test_rank_correlation_is_scipys(count: int) -> None:
    left, right = tied(2, 30, count), tied(3, 30, count)
    left[3:6] = numbers(4, 3, count)  # no ties
    value, defined = spearman(left, right)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy warns of constant sides
        expected = np.array([spearmanr(a, b).statistic for a, b in zip(left, right, strict=True)])
    np.testing.assert_array_equal(defined, ~np.isnan(expected))
    np.testing.assert_allclose(value, np.nan_to_num(expected), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("effects", "ceiling"), [(2, 0.521), (3, 0.622), (5, 0.761), (19, 1), (20, 1), (0, 0)])
def test_the_ceiling_of_a_few_effects_among_twenty_features(effects: int, ceiling: float) -> None:
    truth = torch.zeros(20)
    truth[:effects] = torch.arange(1, effects + 1)
    assert abs(spearman_ceiling(truth) - ceiling) < 0.0005
    best = truth + torch.linspace(0, 0.5, 20)  # the truth, its ties in some order
    value, defined = spearman(best, truth)
    assert bool(defined) == (effects > 0)
    np.testing.assert_allclose(value, spearman_ceiling(truth), rtol=1e-12)


@pytest.mark.parametrize("truth", [[0, 1], [1, 1], [3], [0, 0, 1], [1, 0, 1], [2, 0, 1]])
def test_the_ceiling_of_a_few_features_is_the_best_of_all_orders(truth: list[float]) -> None:
    effect = torch.tensor(truth, dtype=torch.float64)
    orders = torch.tensor(list(permutations(range(len(truth)))), dtype=torch.float64)
    best = spearman(orders, effect.expand_as(orders))[0].max()
    np.testing.assert_allclose(spearman_ceiling(effect), best, rtol=1e-12)


@pytest.mark.parametrize("ties", ["stable", "random"])
def test_as_many_as_asked_are_among_the_largest(ties: str) -> None:
    values, count = tied(5, 8, 7), torch.arange(8)
    chosen = among_largest(values, count, ties)
    np.testing.assert_allclose(chosen.sum(dim=1), count, rtol=1e-12)
    assert ((chosen >= 0) & (chosen <= 1)).all()
    assert (chosen[(values - values.amax(dim=1, keepdim=True) < 0) & (count[:, None] == 1)] == 0).all()


def test_those_that_tie_for_the_last_places_share_them() -> None:
    values, two = torch.tensor([[1.0, 3.0, 2.0, 2.0, 2.0]]), torch.tensor([2])
    np.testing.assert_allclose(among_largest(values, two, "random"), [[0, 1, 1 / 3, 1 / 3, 1 / 3]], rtol=1e-12)
    assert among_largest(values, two, "stable").tolist() == [[0, 1, 1, 0, 0]]
