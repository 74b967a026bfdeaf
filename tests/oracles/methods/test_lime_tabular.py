"""LIME for tables, against the lime package itself and its regression written out, one sample at a time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge
from sklearn.metrics import pairwise_distances
from sklearn.preprocessing import StandardScaler
from torch.testing import assert_close

from assay.core.errors import NotApplicable, SpecError
from assay.core.features import Columns
from assay.core.setting import Reference
from assay.methods import lime_tabular
from assay.methods.lime_tabular import LimeTabular
from scenes import TINY, ask, cnn, data, fitted, mlp, randomised
from streams import seeded


def uneven(query):
    """The question with reference columns of different mean and scale, the last one constant."""
    rows = query.setting.reference.x
    scale = torch.tensor([1.0, 3.0, 0.2, 1.0, 5.0, 0.0]).to(rows)
    rows = rows * scale + torch.tensor([0.0, 2.0, -1.0, 0.5, -3.0, 0.1]).to(rows)
    return replace(query, setting=replace(query.setting, reference=Reference(rows, query.setting.reference.label)))


def points_seen(method, query):
    """The perturbed rows that the model was shown."""
    seen = []
    handle = query.setting.model.register_forward_pre_hook(lambda _module, inputs: seen.append(inputs[0].clone()))
    method(query)
    handle.remove()
    return next(rows for rows in seen if len(rows) == method.samples - 1)


def literal(query, perturbed, width=0.75, alpha=1.0):
    """What LimeTabularExplainer and LimeBase do with given rows, in the package's order and with its libraries."""
    training = query.setting.reference.x.numpy()
    scaler = StandardScaler(with_mean=False).fit(training)
    result = []
    for row, target in zip(query.x.numpy(), query.target.tolist(), strict=True):
        rows = np.vstack([row, perturbed.numpy()])
        scaled = (rows - scaler.mean_) / scaler.scale_
        distances = pairwise_distances(scaled, scaled[0].reshape(1, -1), metric="euclidean").ravel()
        kernel_width = width * np.sqrt(training.shape[1])
        weights = np.sqrt(np.exp(-(distances**2) / kernel_width**2))
        with torch.no_grad():
            labels = query.module(torch.from_numpy(rows))[:, target].numpy()
        model = Ridge(alpha=alpha, fit_intercept=True).fit(scaled, labels, sample_weight=weights)
        result.append((model.coef_, (row - scaler.mean_) / scaler.scale_))
    return tuple(torch.from_numpy(np.array(part)) for part in zip(*result, strict=True))


class Given(np.random.RandomState):
    """Numbers for the lime package: those of given rows, after one that the sample takes the place of."""

    def __init__(self, noise):
        super().__init__(0)
        self.noise = np.vstack([np.zeros_like(noise[:1]), noise])

    def normal(self, *_):
        return self.noise.flatten()


@pytest.mark.parametrize("around", ["the sample", "the mean"])
def test_coefficients_are_those_of_the_lime_package(around):
    from lime.lime_tabular import LimeTabularExplainer

    method = LimeTabular(samples=400)
    query = fitted(method, uneven(ask(mlp().double(), 2 * data(4, 6).double(), "probability")))
    training = query.setting.reference.x.numpy()
    constant = np.where(training.std(axis=0) < 1e-12, 1, training.std(axis=0))
    noise = (points_seen(method, query).numpy() - training.mean(axis=0)) / constant
    explainer = LimeTabularExplainer(
        training,
        discretize_continuous=False,
        feature_selection="none",
        sample_around_instance=around == "the sample",
        random_state=Given(noise),
    )
    expected = torch.zeros_like(query.x)
    for row, target in enumerate(query.target.tolist()):
        told = explainer.explain_instance(
            query.x[row].numpy(),
            lambda x: query.outputs(torch.from_numpy(x)).numpy(),
            labels=(target,),
            num_features=6,
            num_samples=400,
        )
        for column, coefficient in told.local_exp[target]:
            expected[row, column] = coefficient
    if around == "the mean":  # lime's default
        assert_close(method(query), expected, rtol=1e-6, atol=1e-9)
    else:  # the comparison can tell
        assert (method(query) - expected).abs().max() > 1e-3


@pytest.mark.parametrize("width, alpha", [(0.75, 1.0), (0.3, 1.0), (2.0, 10.0)])
@pytest.mark.parametrize("readout", ["logit", "probability"])
def test_coefficients_are_the_packages_on_the_same_rows(width, alpha, readout):
    method = LimeTabular(samples=300, width=width, alpha=alpha)
    query = fitted(method, uneven(ask(mlp().double(), 2 * data(5, 6).double(), readout)))
    expected, _ = literal(query, points_seen(method, query), width, alpha)
    assert_close(method(query), expected, rtol=1e-6, atol=1e-9)


def test_the_product_is_with_the_standardised_value():
    method = LimeTabular(samples=100, times="product")
    query = fitted(method, uneven(ask(mlp().double(), data(4, 6).double())))
    coefficients, values = literal(query, points_seen(method, query))
    assert_close(method(query), coefficients * values, rtol=1e-6, atol=1e-9)


def test_rows_are_normal_with_the_references_mean_and_deviation():
    """Not centred on the sample; 5 standard errors."""
    method = LimeTabular(samples=4001)
    query = fitted(method, uneven(ask(mlp().double(), 50 + data(2, 6).double())))
    rows, training = points_seen(method, query), query.setting.reference.x
    mean, deviation = training.mean(dim=0), training.std(dim=0, correction=0)
    deviation[5] = 1  # of a constant column, as in scikit-learn
    assert ((rows.mean(dim=0) - mean).abs() < 5 * deviation / 4000**0.5).all()
    assert ((rows.std(dim=0) / deviation - 1).abs() < 5 / 8000**0.5).all()
    shape = ((rows - mean) / deviation).abs()
    assert abs((shape < 1).double().mean() - 0.6827) < 5 * (0.6827 * 0.3173 / 24000) ** 0.5


@seeded()
def test_a_linear_model_gives_its_slopes_times_the_deviations():
    net = randomised(torch.nn.Linear(6, 1)).double()
    method = LimeTabular(samples=2000, alpha=1e-9)
    query = fitted(method, uneven(ask(net, data(3, 6).double(), "value")))
    query = replace(query, x=query.setting.reference.x[:3])  # near the perturbed rows, so that no weight is tiny
    expected = (net.weight.detach() * query.fitted["scale"]).expand(3, -1)
    assert_close(method(query), expected, rtol=1e-6, atol=1e-8)


def test_sums_in_parts_are_the_sums(monkeypatch):
    method = LimeTabular(samples=200)
    query = fitted(method, ask(mlp().double(), data(4, 6).double()))
    expected = method(query)
    monkeypatch.setattr(lime_tabular, "GROUP", 49 * 7)
    assert_close(method(replace(query, machine=TINY)), expected, rtol=1e-9, atol=1e-12)


def test_where_it_does_not_apply():
    with pytest.raises(NotApplicable, match="needs a table, and this is image data"):
        fitted(LimeTabular(), ask(cnn(), data(1, 2, 8, 8)))
    with pytest.raises(NotApplicable, match="columns of one number each"):
        fitted(LimeTabular(), ask(mlp(), data(1, 6), features=Columns((0, 1, 1, 1, 2, 2))))
    for wrong in ({"samples": 1}, {"width": 0.0}, {"alpha": 0.0}):
        with pytest.raises(SpecError, match="cannot make a regression"):
            LimeTabular(**wrong)
