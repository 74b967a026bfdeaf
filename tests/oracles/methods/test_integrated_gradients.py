"""Integrated gradients, against a literal sum and Captum."""

from __future__ import annotations

import captum.attr
import numpy as np
import pytest
import torch
from torch import nn
from torch.testing import assert_close

from assay.core.trial import baseline_for
from assay.methods.integrated_gradients import IntegratedGradients
from scenes import TINY, ask, cnn, data, mlp, randomised

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
    assert_close(IntegratedGradients(6)(query), literal(query, *nodes_and_weights("midpoint", 6)), rtol=1e-9, atol=0)


def test_ig_u_starts_at_one_picture_of_noise(net, x):
    noise = baseline_for(ask(net, x).setting, "uniform", x)
    assert noise.any()
    query = ask(net, x, baseline=noise)
    expected = captum.attr.IntegratedGradients(query.module).attribute(
        x.clone(), noise[:1].expand_as(x), query.target, n_steps=9, method="riemann_middle"
    )
    assert_close(IntegratedGradients(9)(query), expected.float(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("rule", [*CAPTUM, "trapezoid"])
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
