"""AGOP-IxG, against the matrix written out, and its identities."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode

from assay.core.errors import NotApplicable, SpecError
from assay.core.setting import Reference
from assay.methods import agop
from assay.methods.agop import Agop
from assay.methods.gradient import InputXGradient
from assay.train.networks import initialise
from assay.train.networks import mlp as network
from scenes import TINY, ask, cnn, data, fitted, mlp, randomised


def gradients(net, x, target):
    """One row at a time."""
    found = []
    for row, label in zip(x, target, strict=True):
        row = row.clone().requires_grad_()
        net(row[None])[0, label].backward()
        found.append(row.grad)
    return torch.stack(found)


def outer(query):
    """M, row by row."""
    reference = query.setting.reference
    found = torch.zeros(6, 6, dtype=torch.float64)
    for g in gradients(query.setting.model, reference.x, reference.label):
        found += torch.outer(g, g) / len(reference.x)
    return found


def through(query, matrix):
    """|matrix g| * |x - mean|, shares of the sum."""
    mean = query.setting.reference.x.mean(0)
    pairs = zip(gradients(query.setting.model, query.x, query.target), query.x, strict=True)
    rows = [(matrix @ g).abs() * (x - mean).abs() for g, x in pairs]
    return torch.stack([row / row.sum() for row in rows])


def literal(query, threshold, weigh=lambda value, _largest: value):
    """The truncated matrix written out, each direction with its weight."""
    values, vectors = torch.linalg.eigh(outer(query))
    kept = torch.zeros(6, 6, dtype=torch.float64)
    for value, vector in zip(values, vectors.T, strict=True):
        if value > threshold * values.max():
            kept += weigh(value, values.max()) * torch.outer(vector, vector)
    return through(query, kept)


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


def test_without_truncation_the_matrix_is_the_whole_one(query):
    assert_close(Agop(0.0)(fitted(Agop(0.0), query)), through(query, outer(query)), rtol=0, atol=1e-12)


@pytest.mark.parametrize("threshold, damping", [(0.01, 0.0), (0.1, 0.0), (0.0, 0.05), (0.01, 1.0)])
def test_the_inverse_form_divides_directions_by_their_eigenvalue(query, threshold, damping):
    method = Agop(threshold, "inverse", damping)
    expected = literal(query, threshold, lambda value, largest: 1 / (value + damping * largest))
    assert_close(method(fitted(method, query)), expected, rtol=0, atol=1e-10)


def test_the_inverse_of_the_whole_matrix_is_its_inverse(query):
    method = Agop(0.0, "inverse")
    assert_close(method(fitted(method, query)), through(query, torch.linalg.inv(outer(query))), rtol=0, atol=1e-10)


def test_the_threshold_drops_directions(query):
    ranks = [fitted(Agop(threshold), query).fitted["factor"].shape[1] for threshold in (0.0, 0.2, 0.9)]
    assert ranks == [6, 2, 1]  # eigenvalues 0.26, 0.080, 0.042, 0.019, 0.006, 0.003


@pytest.mark.parametrize("threshold, rank", [(0.0, 6), (0.2, 2), (0.9, 1)])
def test_the_number_of_kept_directions_is_noted(query, threshold, rank):
    asked = fitted(Agop(threshold), query)
    Agop(threshold)(asked)
    assert asked.remarks.notes == {f"rank {rank}": len(query.x)}


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

    flat = replace(query, setting=replace(query.setting, model=Flat()))
    for method in (Agop(), Agop(form="diagonal"), Agop(form="inverse")):
        assert torch.equal(method(fitted(method, flat)), torch.zeros(5, 6, dtype=torch.float64))


def test_the_diagonal_form_weighs_each_entry_by_its_own_steepness(query):
    method = Agop(form="diagonal")
    reference = query.setting.reference
    diagonal = gradients(query.setting.model, reference.x, reference.label).square().mean(0)
    weight = (diagonal / diagonal.max()).sqrt()
    slope = gradients(query.setting.model, query.x, query.target)
    expected = normalised(slope * weight * (query.x - reference.x.mean(0)))
    assert_close(method(fitted(method, query)), expected, rtol=1e-9, atol=1e-12)


def image_query(copies):
    """128 entries; every one of 32 reference rows ``copies`` times, which leaves M as it is."""
    query = ask(cnn().double(), data(3, 2, 8, 8).double())
    reference = query.setting.reference
    rows = Reference(reference.x.repeat(copies, 1, 1, 1), reference.label.repeat(copies))
    return replace(query, setting=replace(query.setting, reference=rows))


@pytest.mark.parametrize("method", [Agop(), Agop(0.0), Agop(form="inverse"), Agop(0.0, "inverse", damping=0.1)])
def test_few_rows_and_many_rows_give_the_same(method, monkeypatch):
    few, many = (method(fitted(method, image_query(copies))) for copies in (1, 5))
    assert_close(few, many, rtol=0, atol=1e-9)
    monkeypatch.setattr(agop, "GROUP", 32 * 10)  # ten entries at a time
    assert_close(method(fitted(method, image_query(1))), few, rtol=0, atol=1e-12)
    small = replace(image_query(5), machine=TINY)
    assert_close(method(fitted(method, small)), many, rtol=0, atol=1e-12)


class Shapes(TorchDispatchMode):
    """Which shapes tensors have while it is on."""

    def __init__(self):
        super().__init__()
        self.seen = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        found = func(*args, **(kwargs or {}))
        parts = found if isinstance(found, tuple | list) else (found,)
        self.seen |= {tuple(part.shape) for part in parts if isinstance(part, torch.Tensor)}
        return found


@pytest.mark.parametrize("method", [Agop(0.0), Agop(form="inverse"), Agop(form="diagonal")])
def test_no_matrix_of_all_pairs_of_entries_is_made_where_rows_are_fewer(method):
    def square(copies):
        with Shapes() as shapes:
            method(fitted(method, image_query(copies)))
        return (128, 128) in shapes.seen

    assert not square(1)
    assert square(5) == (method.form != "diagonal")  # the watch sees it


def test_many_entries_and_many_rows_are_refused_unless_the_form_is_diagonal():
    query = ask(cnn(), data(3, 2, 8, 8))
    with pytest.raises(NotApplicable, match=r"at most 31 entries .* there are 128 and 32"):
        fitted(Agop(limit=31), query)
    for method in (Agop(limit=32), Agop(form="diagonal", limit=31)):
        found = method(fitted(method, query))
        assert found.shape == query.x.shape
        assert found.dtype == torch.float32
        assert_close(found.flatten(1).sum(1), torch.ones(3))


def test_a_damping_that_would_do_nothing_is_refused():
    for wrong in ({"damping": 0.1}, {"damping": -0.1, "form": "inverse"}):
        with pytest.raises(SpecError, match="damping"):
            Agop(**wrong)


def test_a_threshold_of_one_would_drop_everything():
    with pytest.raises(SpecError, match="threshold is a share"):
        Agop(threshold=1.0)


def test_float32_models_get_float32_attributions_close_to_the_literal_ones():
    single = ask(randomised(mlp()), data(5, 6))
    double = ask(randomised(mlp()).double(), data(5, 6).double())
    found = Agop()(fitted(Agop(), single))
    assert_close(found.double(), literal(double, 0.01), rtol=1e-3, atol=1e-5)


def test_on_the_papers_network_both_factors_make_the_truncated_matrix():
    """Claim B07: L (L^T g) is M_K g."""
    random = torch.Generator().manual_seed(0)
    net = network(20, (256, 256, 128, 64), 3)
    initialise(net, random)
    query = ask(net.double().eval(), data(16, 20).double())
    reference = query.setting.reference
    slopes = gradients(net, reference.x, reference.label)
    values, vectors = torch.linalg.eigh(slopes.T @ slopes / len(slopes))
    kept = values > 0.2 * values.max()
    truncated = vectors[:, kept] * values[kept] @ vectors[:, kept].T
    factor = fitted(Agop(0.2), query).fitted["factor"]
    assert 0 < factor.shape[1] == int(kept.sum()) < 20
    g = gradients(net, query.x, query.target)
    expected = g @ truncated
    assert_close(g @ factor @ factor.T / expected.abs().max(), expected / expected.abs().max(), rtol=0, atol=1e-10)
