"""Layer-CAM, against a literal sum and Captum's gradient times activation."""

from __future__ import annotations

import captum.attr
import pytest
import torch
from torch import nn
from torch.testing import assert_close

from assay.core.errors import NotApplicable
from assay.methods.cam import GradCam, LayerCam
from oracles.methods.cams import LAYERS, at, enlarged, pooled
from scenes import ask, cnn, data, mlp


def literal(maps, slopes):
    total = torch.zeros(maps.shape[1:], dtype=maps.dtype)
    for channel in range(maps.shape[0]):
        for i in range(maps.shape[1]):
            for j in range(maps.shape[2]):
                total[i, j] += max(float(slopes[channel, i, j]), 0.0) * maps[channel, i, j]
    return total


@pytest.mark.parametrize("readout", ["logit", "probability"])
@pytest.mark.parametrize("name", LAYERS)
def test_the_map_is_the_literal_one(name, readout):
    net = cnn().double()
    query = ask(net, data(3, 2, 8, 8).double(), readout, temperature=3.0)
    expected = torch.stack([literal(*pair) for pair in at(net, query, name)])
    assert_close(LayerCam(name, relu=False)(query), enlarged(expected), rtol=1e-9, atol=1e-12)
    assert_close(LayerCam(name)(query), enlarged(expected, relu=True), rtol=1e-9, atol=1e-12)
    assert expected.abs().max() > 1e-3


def test_relu_cuts_off_what_speaks_against_the_class():
    # Values of both signs that no ReLU follows at once, and that are enlarged.
    net = cnn(pool=lambda: nn.Sequential(nn.AvgPool2d(2), nn.BatchNorm2d(4))).double()
    query = ask(net, data(3, 2, 8, 8).double())
    expected = torch.stack([literal(*pair) for pair in at(net, query, "body.2")])
    assert_close(LayerCam("body.2", relu=False)(query), enlarged(expected), rtol=1e-9, atol=1e-12)
    assert_close(LayerCam("body.2")(query), enlarged(expected, relu=True), rtol=1e-9, atol=1e-12)
    assert expected.min() < 0 < expected.max()


@pytest.mark.parametrize("name", ["body.1", "body.4"])
def test_after_a_relu_it_is_what_is_positive_of_captums_gradient_times_activation(name):
    net, x = cnn(), data(5, 2, 8, 8)
    query = ask(net, x, "probability")
    products = captum.attr.LayerGradientXActivation(query.module, net.get_submodule(name)).attribute(x, query.target)
    expected = enlarged(products.detach().clamp(min=0).sum(dim=1))
    assert_close(LayerCam(name)(query), expected, rtol=1e-5, atol=1e-6)


def test_of_one_channel_with_one_positive_slope_it_is_grad_cam():
    net = pooled(channels=1)
    net.head.weight.detach().abs_()
    query = ask(net, data(4, 2, 8, 8).double())
    assert_close(LayerCam("body.1")(query), GradCam("body.1")(query), rtol=1e-12, atol=1e-12)
    assert LayerCam("body.1")(query).min() >= 0
    assert LayerCam("body.1")(query).max() > 0


def test_tables_have_no_map():
    with pytest.raises(NotApplicable, match="needs a convolutional layer"):
        LayerCam()(ask(mlp(), data(2, 6)))
