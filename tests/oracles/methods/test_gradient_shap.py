"""Gradient SHAP, against a literal sum over the same draws; Integrated Gradients and Captum within standard errors."""

from __future__ import annotations

from dataclasses import replace

import captum.attr
import numpy as np
import pytest
import torch
from torch import nn
from torch.testing import assert_close

from assay.core.errors import NotApplicable, SpecError
from assay.methods.gradient_shap import GradientShap
from scenes import TINY, ask, data, fitted, mlp
from streams import seeded

ERRORS = 5  # standard errors that Monte Carlo may be off; of 30 entries, one is further off once in 60,000 runs


def gradient(query, row, point):
    point = point.clone().requires_grad_()
    query.module(point[None])[0, query.target[row]].backward()
    return point.grad


def literal(method, query):
    """The terms of the mean, one gradient at a time: (B, samples, *entries)."""
    entries, background = query.x.shape[1:], query.fitted.get("background")
    alphas = query.draws("alpha").uniform(method.samples).double()
    chances = query.draws("baseline").uniform(method.samples)
    normal = query.draws("noise")
    noise = torch.stack([normal.normal(*entries).double() for _ in range(method.samples)], dim=1)
    terms = torch.zeros(len(query.x), method.samples, *entries, dtype=torch.float64)
    for row in range(len(query.x)):
        for k in range(method.samples):
            pick = int(chances[row, k] * method.background)
            start = query.baseline[row] if background is None else background[pick]
            x = query.x[row] + method.noise * noise[row, k]
            terms[row, k] = (x - start) * gradient(query, row, start + alphas[row, k] * (x - start))
    return terms


@pytest.mark.parametrize("readout", ["logit", "probability"])
@pytest.mark.parametrize(
    "method", [GradientShap(7), GradientShap(7, noise=0.3), GradientShap(9, background=5), GradientShap(5, 0.2, 3)]
)
def test_attributions_are_the_literal_ones(net, x, method, readout):
    query = fitted(method, ask(net.double(), x.double(), readout, baseline=0.4, temperature=2.0))
    assert_close(method(query), literal(method, query).mean(dim=1), rtol=1e-9, atol=1e-12)


def test_parts_do_not_change_the_draws(net, x):
    method = GradientShap(11, noise=0.3, background=4)
    query = fitted(method, ask(net.double(), x.double()))
    small = replace(query, machine=replace(TINY, memory=query.footprint.gradient * 10))  # two draws a call
    assert_close(method(small), method(query), rtol=1e-12, atol=1e-12)


def test_the_mean_is_integrated_gradients():
    method = GradientShap(400)
    query = ask(mlp(activation=nn.Tanh).double(), data(5, 6).double(), baseline=0.5)
    terms = literal(method, query)
    exact = captum.attr.IntegratedGradients(query.module).attribute(
        query.x, query.baseline, target=query.target, n_steps=100
    )
    error = terms.std(dim=1) / 400**0.5
    assert ((method(query) - exact).abs() / error).max() < ERRORS
    assert (error / exact.abs()).median() < 0.1  # the test can tell


@seeded()
def test_every_reference_row_is_drawn_equally_often():
    method = GradientShap(2000, background=4)
    linear = nn.Linear(6, 3).double().eval()
    query = fitted(method, ask(linear, data(3, 6).double()))
    rows = query.fitted["background"]
    expected = (query.x - rows.mean(dim=0)) * linear.weight[query.target].detach()
    error = rows.std(dim=0, unbiased=False) * linear.weight[query.target].detach().abs() / 2000**0.5
    assert ((method(query) - expected).abs() / error).max() < ERRORS
    assert_close(method.promised(query), expected.sum(dim=1), rtol=1e-9, atol=1e-12)


def test_attributions_are_captums_on_the_same_draws(net, x, monkeypatch):
    """Captum draws rows, numbers along the line and noise from global streams, sample by sample: it gets ours."""
    method = GradientShap(7, noise=0.3, background=5)
    query = fitted(method, ask(net.double(), x.double(), "probability"))
    normal = query.draws("noise")
    noise = torch.stack([normal.normal(*x.shape[1:]).double() for _ in range(7)], dim=1).flatten(0, 1)
    picks = (query.draws("baseline").uniform(7) * 5).long().flatten().numpy()
    alphas = query.draws("alpha").uniform(7).flatten().double().numpy()
    monkeypatch.setattr(np.random, "uniform", lambda *_: alphas)
    monkeypatch.setattr(np.random, "choice", lambda *_: picks)
    monkeypatch.setattr(torch, "normal", lambda _, deviation: deviation * noise)
    expected = captum.attr.GradientShap(query.module).attribute(
        query.x, query.fitted["background"], n_samples=7, stdevs=0.3, target=query.target
    )
    assert_close(method(query), expected.detach(), rtol=1e-6, atol=1e-9)


def test_captum_is_as_far_away_as_chance_has_it():
    method = GradientShap(600, noise=0.2, background=6)
    query = fitted(method, ask(mlp().double(), data(5, 6).double()))
    error = literal(method, query).std(dim=1) * (2 / 600) ** 0.5  # of the difference of two such means
    state = np.random.get_state()
    try:
        np.random.seed(0)
        with torch.random.fork_rng():
            torch.manual_seed(0)
            other = captum.attr.GradientShap(query.module).attribute(
                query.x, query.fitted["background"], n_samples=600, stdevs=0.2, target=query.target
            )
    finally:
        np.random.set_state(state)
    assert ((method(query) - other.detach()).abs() / error).max() < ERRORS


@seeded()
def test_a_linear_model_needs_one_draw():
    linear = nn.Linear(6, 3).double().eval()
    query = ask(linear, data(3, 6).double(), baseline=0.5)
    expected = (query.x - 0.5) * linear.weight[query.target].detach()
    assert_close(GradientShap(1)(query), expected, rtol=1e-12, atol=1e-12)


def test_a_background_is_some_reference_rows_each_once():
    query = ask(mlp(), data(2, 6))
    rows = fitted(GradientShap(background=8), query).fitted["background"]
    same = (rows.unsqueeze(1) == query.setting.reference.x).all(dim=2)  # (8, 32)
    assert same.sum(dim=1).tolist() == [1] * 8
    assert same.sum(dim=0).max() == 1
    assert same[:, 8:].any()  # not the first ones


def test_a_background_needs_enough_rows_and_nothing_else_fits():
    assert not hasattr(GradientShap(), "fit")
    with pytest.raises(NotApplicable, match="needs 33 reference rows, and there are 32"):
        fitted(GradientShap(background=33), ask(mlp(), data(2, 6)))


@pytest.mark.parametrize("wrong", [{"samples": 0}, {"noise": -0.1}, {"background": -1}])
def test_parameters_that_mean_nothing_are_refused(wrong):
    with pytest.raises(SpecError, match=r"gradient_shap: .* Choose"):
        GradientShap(**wrong)
