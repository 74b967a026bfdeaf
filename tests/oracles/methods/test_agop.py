"""AGOP-IxG, against the matrix written out, and its identities."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from assay.core.errors import NotApplicable, SpecError
from assay.methods.agop import Agop
from assay.methods.input_x_gradient import InputXGradient
from scenes import ask, cnn, data, fitted, mlp, randomised


def gradients(net, x, target):
    """One row at a time."""
    found = []
    for row, label in zip(x, target, strict=True):
        row = row.clone().requires_grad_()
        net(row[None])[0, label].backward()
        found.append(row.grad)
    return torch.stack(found)


def literal(query, threshold):
    """|M_K g| * |x - mean| with the truncated matrix written out."""
    reference, net = query.setting.reference, query.setting.model
    outer = torch.zeros(6, 6, dtype=torch.float64)
    for g in gradients(net, reference.x, reference.label):
        outer += torch.outer(g, g) / len(reference.x)
    values, vectors = torch.linalg.eigh(outer)
    kept = torch.zeros_like(outer)
    for value, vector in zip(values, vectors.T, strict=True):
        if value > threshold * values.max():
            kept += value * torch.outer(vector, vector)
    mean = reference.x.mean(0)
    rows = [
        (kept @ g).abs() * (x - mean).abs() for g, x in zip(gradients(net, query.x, query.target), query.x, strict=True)
    ]
    return torch.stack([row / row.sum() for row in rows])


def normalised(attribution):
    size = attribution.abs()
    return size / size.flatten(1).sum(1).view(-1, *[1] * (size.dim() - 1))


@pytest.fixture
def query():
    return ask(mlp().double(), data(5, 6).double())


@pytest.mark.parametrize("threshold", [0.0, 0.01, 0.2, 0.9])
def test_the_factor_form_is_the_matrix_form(query, threshold):
    method = Agop(threshold)
    assert_close(method(fitted(method, query)), literal(query, threshold), rtol=0, atol=1e-10)


def test_the_threshold_drops_directions(query):
    ranks = [fitted(Agop(threshold), query).fitted["factor"].shape[1] for threshold in (0.0, 0.2, 0.9)]
    assert ranks == [6, 2, 1]  # eigenvalues 0.26, 0.080, 0.042, 0.019, 0.006, 0.003


def test_the_identity_matrix_gives_input_times_gradient(query):
    eye = {"factor": torch.eye(6, dtype=torch.float64), "mean": torch.zeros(6, dtype=torch.float64)}
    found = Agop()(replace(query, fitted=eye))
    assert_close(found, normalised(InputXGradient()(query)), rtol=1e-9, atol=0)


def test_scaling_the_logits_changes_nothing(query):
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = query.setting.model

        def forward(self, x):
            return 37 * self.layers(x)

    method = Agop()
    scaled = replace(query, setting=replace(query.setting, model=Scaled()))
    assert_close(method(fitted(method, scaled)), method(fitted(method, query)), rtol=1e-9, atol=1e-12)


def test_attributions_are_shares_of_the_distance_to_the_reference_mean(query):
    method = Agop()
    asked = fitted(method, query)
    assert_close(method(asked).sum(1), torch.ones(5, dtype=torch.float64))
    at_mean = replace(asked, x=query.setting.reference.x.mean(0).expand(5, 6))
    assert_close(method(at_mean), torch.zeros(5, 6, dtype=torch.float64))


def test_a_model_without_slope_gets_zeros_not_nan(query):
    class Flat(nn.Module):
        def forward(self, x):
            return (0 * x)[:, :3]

    method = Agop()
    flat = replace(query, setting=replace(query.setting, model=Flat()))
    assert torch.equal(method(fitted(method, flat)), torch.zeros(5, 6, dtype=torch.float64))


def test_the_diagonal_form_weighs_each_entry_by_its_own_steepness(query):
    method = Agop(form="diagonal")
    reference = query.setting.reference
    diagonal = gradients(query.setting.model, reference.x, reference.label).square().mean(0)
    weight = (diagonal / diagonal.max()).sqrt()
    slope = gradients(query.setting.model, query.x, query.target)
    expected = normalised(slope * weight * (query.x - reference.x.mean(0)))
    assert_close(method(fitted(method, query)), expected, rtol=1e-9, atol=1e-12)


def test_images_are_refused_until_they_are_small_or_the_form_is_diagonal():
    query = ask(cnn(), data(3, 2, 8, 8))
    with pytest.raises(NotApplicable, match=r"at most 100 entries .* there are 128"):
        Agop(limit=100).fit(query)
    for method in (Agop(), Agop(form="diagonal", limit=100)):
        found = method(fitted(method, query))
        assert found.shape == query.x.shape
        assert found.dtype == torch.float32
        assert_close(found.flatten(1).sum(1), torch.ones(3))


def test_a_threshold_of_one_would_drop_everything():
    with pytest.raises(SpecError, match="threshold is a share"):
        Agop(threshold=1.0)


def test_float32_models_get_float32_attributions_close_to_the_literal_ones():
    single = ask(randomised(mlp()), data(5, 6))
    double = ask(randomised(mlp()).double(), data(5, 6).double())
    found = Agop()(fitted(Agop(), single))
    assert_close(found.double(), literal(double, 0.01), rtol=1e-3, atol=1e-5)
