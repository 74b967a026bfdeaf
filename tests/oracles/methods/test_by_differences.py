"""Differences in place of gradients."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from sklearn.ensemble import RandomForestClassifier
from torch import nn
from torch.testing import assert_close

from assay.core.errors import NotApplicable, SpecError
from assay.core.machine import Machine
from assay.core.query import Remarks
from assay.methods.agop import Agop
from assay.methods.attention import AttentionRollout, CheferGradient, CheferRelevance
from assay.methods.by_differences import ByDifferences
from assay.methods.cam import GradCam
from assay.methods.combinators import Absolute
from assay.methods.deep_shap import DeepShap
from assay.methods.exact_integrated_gradients import ExactIntegratedGradients
from assay.methods.gradient import Gradient, InputXGradient
from assay.methods.guided_backprop import GuidedBackprop
from assay.methods.integrated_gradients import IntegratedGradients
from assay.methods.lrp import Lrp
from assay.methods.smoothed import Smoothed
from assay.train.estimator import Estimator
from assay.train.feature_tokens import FeatureTokens, initialise_feature_tokens
from scenes import ask, cnn, data, fitted, mlp
from streams import seeded

DEVIATIONS = torch.tensor([1.0, 10.0, 0.1, 3.0, 1.0, 0.5], dtype=torch.float64)


class Black(nn.Module):
    """A model that leaves torch."""

    def __init__(self, model):
        super().__init__()
        self.model = model
        self.rows = []

    def forward(self, x):
        self.rows.append(len(x))
        return torch.from_numpy(self.model(x.detach()).detach().numpy())


def table(rows=12):
    return data(rows, 6).double() * DEVIATIONS


def without_gradients(query, machine=Machine()):
    model = Black(query.setting.model)
    return replace(query, setting=replace(query.setting, model=model, differentiable=False), machine=machine)


def explained(method, query):
    return method(fitted(method, query))


def forest_query(rows=300):
    x = data(rows, 6)
    label = (x[:, 0] + x[:, 1] > 0).long() + (x[:, 2] > 1).long()
    model = Estimator(RandomForestClassifier(n_estimators=20, random_state=0).fit(x.numpy(), label.numpy()))
    query = ask(model, x)
    return replace(query, setting=replace(query.setting, differentiable=False))


@pytest.mark.parametrize("inner", [Gradient(), InputXGradient(), Agop(), IntegratedGradients(4), Smoothed(samples=2)])
@seeded()
def test_on_a_linear_model_every_method_answers_as_with_its_gradients(inner):
    query = ask(nn.Linear(6, 3).double(), table())
    assert_close(
        explained(ByDifferences(inner), without_gradients(query)), explained(inner, query), rtol=1e-6, atol=1e-6
    )


def test_a_slope_is_the_difference_over_the_step_in_standard_deviations_of_the_reference_rows():
    query = ask(mlp().double(), table())
    found = explained(ByDifferences(step=0.7), without_gradients(query))
    steps = 0.7 * query.setting.reference.x.std(dim=0, correction=0)
    for entry in range(6):
        move = torch.zeros(6, dtype=torch.float64)
        move[entry] = steps[entry]
        literal = (query.score(query.x + move) - query.score(query.x - move)) / (2 * steps[entry])
        assert_close(found[:, entry], literal, rtol=1e-9, atol=1e-12)


@seeded()
def test_on_a_smooth_network_short_steps_approach_the_gradient():
    network = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3)).double()
    query = ask(network, table())
    true = Gradient()(query)
    errors = [
        float((explained(ByDifferences(step=step), without_gradients(query)) - true).abs().max())
        for step in (0.1, 0.01, 0.001)
    ]
    assert errors[0] > 50 * errors[1] > 50 * 50 * errors[2]  # the error goes with the square of the step
    assert errors[2] < 1e-4 * float(true.abs().max())


@seeded()
def test_a_readout_keeps_its_own_gradient():
    query = ask(nn.Linear(6, 3).double(), table(), readout="probability")
    assert_close(explained(ByDifferences(), without_gradients(query)), Gradient()(query), rtol=1e-9, atol=1e-12)


@seeded()
def test_a_constant_column_gets_a_step_in_its_own_units():
    query = ask(nn.Linear(6, 3).double(), table())
    query.setting.reference.x[:, 2] = 5.0
    assert fitted(ByDifferences(), query).fitted["deviation"][2] == 1
    assert_close(explained(ByDifferences(), without_gradients(query)), Gradient()(query))


def test_columns_go_into_calls_that_fit_the_memory():
    query = ask(mlp().double(), table())
    results, calls = [], []
    for memory in (2**30, 2**11):
        asked = fitted(ByDifferences(), without_gradients(query, Machine(memory=memory)))
        asked.setting.model.rows.clear()
        results.append(ByDifferences()(asked))
        calls.append(max(asked.setting.model.rows))
    assert_close(*results)
    assert calls[0] == 12 * 6 * 2
    assert calls[1] < 6 * 2  # not even one row with all of its columns


def test_a_forest_is_explained_and_the_share_of_zeros_is_noted():
    query = forest_query()
    method = ByDifferences(Agop())
    asked = replace(fitted(method, query), remarks=Remarks())
    attribution = method(asked)
    share = float(asked.fitted["zeros"])
    assert 0 < share < 0.5
    assert f"{share:.0%} of differences are 0 on reference rows" in asked.remarks.notes
    assert attribution[:, :3].sum() > 4 * attribution[:, 3:].sum()  # three columns decide
    with pytest.raises(NotApplicable, match="needs gradients"):
        Agop().fit(query)


def test_steps_that_are_too_short_for_a_forest_are_refused_with_the_share_of_zeros():
    query = forest_query()
    with pytest.raises(NotApplicable, match=r"within 0.001 standard deviations .* 9\d% of its differences .* are 0"):
        ByDifferences(step=0.001).fit(query)
    assert float(ByDifferences(step=0.001, zeros=1.0).fit(query)["zeros"]) > 0.9


def test_images_are_refused():
    with pytest.raises(NotApplicable, match="needs a table"):
        ByDifferences().fit(ask(cnn(), data(4, 2, 8, 8)))


@pytest.mark.parametrize("inner", [DeepShap(), Lrp(), GradCam(), GuidedBackprop(), ExactIntegratedGradients()])
def test_a_method_that_reads_layers_does_not_apply(inner):
    with pytest.raises(NotApplicable):
        explained(ByDifferences(inner), forest_query(40))


@pytest.mark.parametrize("inner", [AttentionRollout(), CheferGradient(), CheferRelevance()])
def test_attention_is_hidden(inner):
    network = FeatureTokens(6, 8, 3)
    initialise_feature_tokens(network, torch.Generator().manual_seed(0))
    query = ask(network.eval().requires_grad_(False), data(4, 6))
    inner(query)
    with pytest.raises(NotApplicable, match="needs attention, and the model computes none"):
        explained(ByDifferences(inner), query)


def test_it_promises_and_declares_what_the_inner_method_does():
    query = fitted(ByDifferences(IntegratedGradients(4)), forest_query(40))
    assert torch.equal(ByDifferences(IntegratedGradients(4)).promised(query), query.change())
    assert not hasattr(ByDifferences(), "promised")
    assert (ByDifferences(Absolute()).positive_only, ByDifferences().positive_only) == (True, False)


@pytest.mark.parametrize("wrong", [{"step": 0.0}, {"step": float("nan")}, {"zeros": 1.5}])
def test_impossible_parameters_are_refused(wrong):
    with pytest.raises(SpecError, match="positive step"):
        ByDifferences(**wrong)
