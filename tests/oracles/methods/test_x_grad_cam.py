"""XGrad-CAM, against a literal sum, Captum's gradient times activation, and the axioms it was made for."""

from __future__ import annotations

import captum.attr
import pytest
import torch
from torch import nn
from torch.testing import assert_close

from assay.core.errors import NotApplicable
from assay.methods.cam import GradCam, XGradCam
from oracles.methods.cams import LAYERS, at, enlarged, pooled, weighted
from scenes import Flat, ask, cnn, data, mlp, randomised
from streams import seeded


def literal(maps, slopes):
    """One weight per channel."""
    weights = []
    for channel in range(len(maps)):
        shares = maps[channel] / (maps[channel].sum() + 1e-8)
        weights.append(float((slopes[channel] * shares).sum()))
    return weights, maps


@pytest.mark.parametrize("readout", ["logit", "probability"])
@pytest.mark.parametrize("name", LAYERS)
def test_the_map_is_the_literal_one(name, readout):
    net = cnn().double()
    query = ask(net, data(3, 2, 8, 8).double(), readout, temperature=3.0)
    expected = weighted(literal(*pair) for pair in at(net, query, name))
    assert_close(XGradCam(name, relu=False)(query), enlarged(expected), rtol=1e-9, atol=1e-12)
    assert_close(XGradCam(name)(query), enlarged(expected, relu=True), rtol=1e-9, atol=1e-12)
    assert expected.min() < 0


def test_the_map_follows_from_captums_gradient_times_activation():
    net, x = cnn(), data(5, 2, 8, 8)
    query, part = ask(net, x, "probability"), net.body[1]
    products = captum.attr.LayerGradientXActivation(query.module, part).attribute(x, query.target).detach()
    maps = captum.attr.LayerActivation(query.module, part).attribute(x).detach()
    weights = products.sum(dim=(2, 3), keepdim=True) / maps.sum(dim=(2, 3), keepdim=True).clamp(min=1e-8)
    expected = enlarged((weights * maps).sum(dim=1), relu=True)
    assert_close(XGradCam("body.1")(query), expected, rtol=1e-5, atol=1e-6)


def test_before_global_average_pooling_it_is_grad_cam():
    query = ask(pooled(), data(4, 2, 8, 8).double())
    found = XGradCam("body.1", relu=False)(query)
    assert_close(found, GradCam("body.1", relu=False)(query), rtol=1e-7, atol=1e-9)  # the 1e-8 of the formula shows
    assert found.min() < 0 < found.max()


def test_elsewhere_it_is_not_grad_cam():
    query = ask(cnn(), data(3, 2, 8, 8))
    assert (XGradCam("body.1")(query) - GradCam("body.1")(query)).abs().max() > 1e-2


@seeded()
def test_without_biases_the_map_of_the_images_size_sums_to_the_score():
    body = nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 3, 3, stride=2, bias=False), nn.ReLU())
    head = nn.Sequential(nn.Linear(27, 5, bias=False), nn.ReLU(), nn.Linear(5, 3, bias=False))
    query = ask(randomised(Flat(body, head)).double(), data(4, 2, 8, 8).double())
    sums, scores = XGradCam("body.1", relu=False)(query).sum(dim=(1, 2)), query.score(query.x)
    assert_close(sums, scores, rtol=1e-6, atol=1e-7)
    assert scores.abs().min() > 1e-2
    assert (GradCam("body.1", relu=False)(query).sum(dim=(1, 2)) - scores).abs().min() > 1e-2


def test_a_channel_that_is_0_everywhere_adds_nothing():
    net = pooled()
    net.body[0].bias.detach()[0] = -1e3
    assert torch.isfinite(XGradCam("body.1")(ask(net, data(2, 2, 8, 8).double()))).all()


def test_tables_have_no_map():
    with pytest.raises(NotApplicable, match="needs a convolutional layer"):
        XGradCam()(ask(mlp(), data(2, 6)))
