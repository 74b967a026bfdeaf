"""Exact Shapley values, against the average over all orders and Captum."""

from __future__ import annotations

from itertools import permutations

import captum.attr
import pytest
import torch
from torch.testing import assert_close

from assay.core.errors import NotApplicable
from assay.core.features import Columns, Tokens
from assay.methods.exact_shapley import ExactShapley
from scenes import TINY, Flat, ask, cnn, data, mlp, randomised
from streams import seeded


def literal(query, groups):
    """Features join one after the other, in every order; each gets what the score gains, averaged."""
    count = max(groups) + 1
    orders = list(permutations(range(count)))
    result = torch.zeros(len(query.x), count, dtype=torch.float64)
    for row, target in enumerate(query.target.tolist()):
        for order in orders:
            point = query.baseline[row].clone()
            before = query.module(point[None])[0, target].item()
            for feature in order:
                entries = [entry for entry, group in enumerate(groups) if group == feature]
                point[entries] = query.x[row, entries]
                after = query.module(point[None])[0, target].item()
                result[row, feature] += (after - before) / len(orders)
                before = after
    return result


@pytest.mark.parametrize("groups", [(0, 1, 2, 3, 4, 4), (0, 1, 1, 0, 2, 2), (0, 0, 0, 0, 1, 1), (0,) * 6])
@pytest.mark.parametrize("readout", ["logit", "probability"])
def test_values_are_the_average_over_all_orders(groups, readout):
    query = ask(mlp().double(), data(3, 6).double(), readout, baseline=0.4, features=Columns(groups))
    assert_close(ExactShapley()(query), literal(query, groups), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("groups", [(0, 1, 2, 3, 4, 5), (0, 1, 1, 1, 2, 3)])
def test_values_are_captums(groups):
    query = ask(mlp(), data(5, 6), "probability", baseline=0.2, features=Columns(groups))
    expected = captum.attr.ShapleyValues(query.module).attribute(
        query.x, query.baseline, query.target, feature_mask=torch.tensor([groups])
    )
    first = [groups.index(feature) for feature in range(max(groups) + 1)]
    assert_close(ExactShapley()(query), expected[:, first], rtol=1e-5, atol=1e-6)


@seeded()
def test_a_linear_model_has_the_terms_that_are_replaced():
    net = randomised(torch.nn.Linear(4, 1)).double()
    query = ask(net, data(6, 4, seed=3).double(), "value", baseline=data(6, 4, seed=5).double())
    assert_close(ExactShapley()(query), net.weight.detach() * (query.x - query.baseline), rtol=1e-9, atol=1e-12)


@seeded()
def test_values_of_many_features_sum_to_the_difference_and_need_little_memory():
    net = randomised(torch.nn.Sequential(torch.nn.Linear(12, 9), torch.nn.Tanh(), torch.nn.Linear(9, 2))).double()
    x = data(3, 12).double()
    query = ask(net, x)
    found = ExactShapley()(query)
    assert_close(found.sum(dim=1), query.score(query.x) - query.score(query.baseline), rtol=1e-9, atol=1e-12)
    assert_close(ExactShapley()(ask(net, x, machine=TINY)), found, rtol=1e-9, atol=1e-12)


@seeded()
def test_pixels_and_tokens_are_players_too():
    body = torch.nn.Conv2d(2, 3, 2)
    image = ask(randomised(Flat(body, torch.nn.Linear(6, 3))), data(2, 2, 2, 3))
    mask = torch.arange(6).view(1, 1, 2, 3)
    expected = captum.attr.ShapleyValues(image.module).attribute(
        image.x, image.baseline, image.target, feature_mask=mask
    )
    assert_close(ExactShapley()(image), expected[:, 0], rtol=1e-5, atol=1e-6)
    text = ask(Flat(torch.nn.Identity(), mlp()), data(4, 3, 2), features=Tokens(3, 2))
    flat = ask(mlp(), data(4, 3, 2).flatten(1), features=Columns((0, 0, 1, 1, 2, 2)))
    assert_close(ExactShapley()(text), ExactShapley()(flat), rtol=1e-6, atol=1e-6)


def test_too_many_features_are_not_applicable():
    with pytest.raises(NotApplicable, match=r"at most 16 features.* there are 64"):
        ExactShapley()(ask(cnn(), data(1, 2, 8, 8)))
    with pytest.raises(NotApplicable, match="at most 5 features"):
        ExactShapley(limit=5)(ask(mlp(), data(1, 6)))
