"""Integrated gradients, against a literal sum and Captum."""

from __future__ import annotations

from dataclasses import replace

import captum.attr
import numpy as np
import pytest
import torch
from torch import nn
from torch.testing import assert_close

from assay.core.machine import Machine
from assay.core.question import Question
from assay.core.rng import Stream
from assay.core.trial import baseline_for
from assay.engine.artifacts.answer import make_query
from assay.environments.color_count import ColorCount
from assay.methods.exact_integrated_gradients import ExactIntegratedGradients
from assay.methods.integrated_gradients import IntegratedGradients
from scenes import TINY, ask, cnn, data, mlp, randomised
from streams import seeded

CAPTUM = {
    "midpoint": "riemann_middle",
    "left": "riemann_left",
    "right": "riemann_right",
    "gauss_legendre": "gausslegendre",
}


def literal(query, nodes, weights):
    """One gradient at a time."""
    result = torch.zeros_like(query.x)
    for row, target in enumerate(query.target.tolist()):
        start, end = query.baseline[row], query.x[row]
        for node, weight in zip(nodes, weights, strict=True):
            point = (start + node * (end - start)).detach().requires_grad_()
            query.module(point[None])[0, target].backward()
            result[row] += weight * point.grad * (end - start)
    return result


def nodes_and_weights(rule, steps):
    if rule == "gauss_legendre":
        nodes, weights = np.polynomial.legendre.leggauss(steps)
        return (nodes + 1) / 2, weights / 2
    if rule == "trapezoid":
        return np.arange(steps) / (steps - 1), [
            1 / (steps - 1) / (2 if k in (0, steps - 1) else 1) for k in range(steps)
        ]
    shift = {"left": 0, "midpoint": 0.5, "right": 1}[rule]
    return [(k + shift) / steps for k in range(steps)], [1 / steps] * steps


@pytest.mark.parametrize("rule", [*CAPTUM, "trapezoid"])
@pytest.mark.parametrize("baseline", [0.0, 0.4])
def test_every_quadrature_is_its_literal_sum(rule, baseline):
    query = ask(mlp().double(), data(3, 6).double(), "probability", baseline)
    assert_close(
        IntegratedGradients(7, rule)(query), literal(query, *nodes_and_weights(rule, 7)), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("rule", CAPTUM)
@pytest.mark.parametrize("readout", ["logit", "probability"])
def test_every_quadrature_is_captums(net, x, rule, readout):
    query = ask(net, x, readout, baseline=0.3, temperature=2.0)
    expected = captum.attr.IntegratedGradients(query.module).attribute(
        x.clone(), query.baseline, query.target, n_steps=20, method=CAPTUM[rule]
    )
    assert_close(IntegratedGradients(20, rule)(query), expected.float(), rtol=1e-6, atol=1e-6)


def test_every_sample_may_have_its_own_baseline():
    query = ask(mlp().double(), data(3, 6).double(), baseline=data(3, 6, seed=5))
    expected = literal(query, *nodes_and_weights("midpoint", 6))
    assert_close(IntegratedGradients(6, "midpoint")(query), expected, rtol=1e-9, atol=0)


def test_ig_u_starts_at_one_picture_of_noise(net, x):
    noise = baseline_for(ask(net, x).setting, "uniform", x)
    assert noise.any()
    query = ask(net, x, baseline=noise)
    expected = captum.attr.IntegratedGradients(query.module).attribute(
        x.clone(), noise[:1].expand_as(x), query.target, n_steps=9, method="riemann_middle"
    )
    assert_close(IntegratedGradients(9, "midpoint")(query), expected.float(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("rule", [*CAPTUM, "trapezoid"])
@seeded()
def test_a_linear_model_is_explained_exactly_by_any_rule(rule):
    model = randomised(nn.Sequential(nn.Linear(6, 3))).double()
    query = ask(model, data(4, 6).double(), baseline=0.2)
    expected = model[0].weight[query.target] * (query.x - query.baseline)
    assert_close(IntegratedGradients(3, rule)(query), expected.detach(), rtol=1e-9, atol=0)


def test_attributions_sum_to_the_score_difference_as_steps_grow():
    query = ask(cnn().double(), data(4, 2, 8, 8).double(), "probability", baseline=0.3)
    difference = query.score(query.x) - query.score(query.baseline)
    gaps = [(IntegratedGradients(steps)(query).flatten(1).sum(1) - difference).abs().max() for steps in (4, 64, 1024)]
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 1e-3


def test_a_small_memory_budget_changes_nothing_but_rounding():
    x = data(6, 2, 8, 8)
    roomy, tight = ask(cnn(), x), ask(cnn(), x, machine=TINY)
    assert len(list(roomy.parts(64, gradients=True))) < len(list(tight.parts(64, gradients=True)))
    assert_close(IntegratedGradients()(tight), IntegratedGradients()(roomy), rtol=1e-5, atol=1e-6)


def colours(count, readout="probability", baseline="true"):
    environment = ColorCount.tiny()
    question = Question(readout=readout, baseline=baseline)
    return make_query(
        environment.setting(0, {}), environment.sample(range(count), 0), question, Stream("test"), Machine()
    )


def relative_gap(query, attribution):
    promised = query.change().double()
    return (attribution.double().flatten(1).sum(1) - promised).abs() / promised.abs()


def relative_error(attribution, exact):
    return (attribution - exact).flatten(1).abs().sum(1) / exact.flatten(1).abs().sum(1)


@pytest.mark.parametrize("baseline", ["true", "zero"])
def test_by_default_a_network_with_sharp_kinks_gets_the_steps_it_needs(baseline):
    query = colours(3, baseline=baseline)
    found = IntegratedGradients()(query)
    assert relative_gap(query, found).max() <= 0.01
    assert relative_error(found, ExactIntegratedGradients()(query)).max() <= 0.05
    assert query.remarks.notes == {}


def test_few_midpoints_miss_every_colour_and_give_a_map_of_zeros():
    query = colours(2)
    assert not IntegratedGradients(64, "midpoint")(query).any()
    assert bool((relative_gap(query, torch.zeros_like(query.x)) == 1).all())


def test_an_integral_that_does_not_converge_says_so_and_for_how_many_samples():
    query = colours(6)
    IntegratedGradients(most=64)(query)
    ((words, count),) = query.remarks.notes.items()
    assert words == "did not converge within 64 steps"
    alone = [colours(6).take(slice(row, row + 1)) for row in range(6)]
    for one in alone:
        one.remarks.notes.clear()
        IntegratedGradients(most=64)(one)
    assert count == sum(bool(one.remarks.notes) for one in alone) > 0


def test_a_sample_converges_alone_as_it_does_among_others():
    query = colours(3)
    together = IntegratedGradients()(query)
    for row in range(3):
        alone = IntegratedGradients()(query.take(slice(row, row + 1)))
        assert_close(alone, together[row : row + 1], rtol=1e-5, atol=1e-7)


@seeded()
def test_a_small_gap_alone_is_not_enough():
    """Two late rises of opposite sign: whatever is missed of one is missed of the other, and the sum is right."""
    rises = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2, bias=False)).double().requires_grad_(False)
    rises[0].weight.copy_(1000 * torch.eye(2))
    rises[0].bias.fill_(-999)
    rises[2].weight.copy_(torch.tensor([[1.0, -1.0], [0.0, 0.0]]))
    query = replace(ask(rises, torch.ones(1, 2).double()), target=torch.tensor([0]))
    exact = torch.tensor([[1.0, -1.0]]).double()
    by_gap, by_both = IntegratedGradients(change=1e9)(query), IntegratedGradients()(query)
    assert relative_gap_is_nothing(query, by_gap)
    assert relative_error(by_gap, exact) > 0.1
    assert relative_error(by_both, exact) < 0.05


@seeded()
def test_a_map_that_stays_the_same_is_not_enough():
    """A rise so short that 32 and 64 steps both miss it: two equal maps of zeros, and nothing adds up."""
    rise = nn.Sequential(nn.Linear(1, 2), nn.ReLU(), nn.Linear(2, 1, bias=False)).double().requires_grad_(False)
    rise[0].weight.fill_(50)
    rise[0].bias.copy_(-50 * torch.tensor([0.49, 0.51]))
    rise[2].weight.copy_(torch.tensor([[1.0, -1.0]]))
    query = ask(rise, torch.ones(1, 1).double())
    assert not any(IntegratedGradients(steps)(query).any() for steps in (32, 64))
    assert relative_gap(query, IntegratedGradients()(query)) < 0.05


def relative_gap_is_nothing(query, attribution):
    return bool((attribution.sum(1) - query.change()).abs().max() < 1e-12)


def test_nothing_to_divide_needs_no_more_steps():
    """Of whole numbers: else equal rows may get answers that differ by rounding, as the processor divides a batch."""
    net, x = mlp(), data(3, 6).mul(4).round()
    for parameter in net.parameters():
        parameter.data.mul_(8).round_()
    query = ask(net, x, baseline=x)
    assert query.score(x).all()
    assert not IntegratedGradients()(query).any()
    assert query.remarks.notes == {}


def test_a_number_of_steps_is_taken_as_it_is():
    query = ask(mlp().double(), data(3, 6).double(), baseline=0.3)
    expected = literal(query, *nodes_and_weights("gauss_legendre", 5))
    assert_close(IntegratedGradients(5)(query), expected, rtol=1e-9, atol=1e-12)
