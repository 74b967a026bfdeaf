"""Grad-CAM, against a literal sum and Captum."""

from __future__ import annotations

from dataclasses import replace

import captum.attr
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from assay.core.errors import NotApplicable, SpecError
from assay.methods.cam import GradCam
from oracles.methods.cams import pooled
from scenes import ask, cnn, data, mlp, randomised
from streams import seeded


def literal(net, query, name):
    """The map of one layer before ReLU and resizing, one channel at a time, by splitting the network by hand."""
    body = list(net.body)
    cut = int(name.rpartition(".")[2]) + 1
    result = []
    for x, target in zip(query.x, query.target, strict=True):
        seen = nn.Sequential(*body[:cut])(x[None]).detach().requires_grad_()
        logits = net.head(nn.Sequential(*body[cut:])(seen).flatten(1))
        query.module.readout(logits)[0, target].backward()
        total = torch.zeros(seen.shape[2:], dtype=x.dtype)
        for channel in range(seen.shape[1]):
            total += seen.grad[0, channel].mean() * seen[0, channel].detach()
        result.append(total)
    return torch.stack(result)


@pytest.mark.parametrize("readout", ["logit", "probability"])
@pytest.mark.parametrize("name", ["body.0", "body.1", "body.3", "body.4"])
def test_the_map_is_the_literal_one(name, readout):
    net = cnn().double()
    query = ask(net, data(3, 2, 8, 8).double(), readout, temperature=3.0)
    expected = F.interpolate(literal(net, query, name)[:, None], (8, 8), mode="bilinear")[:, 0]
    assert_close(GradCam(name, relu=False)(query), expected, rtol=1e-9, atol=1e-12)
    assert expected.min() < 0


@pytest.mark.parametrize("name", ["body.1", "body.3"])
def test_the_map_is_captums(name):
    net, x = cnn(), data(5, 2, 8, 8)
    query = ask(net, x, "probability")
    cam = captum.attr.LayerGradCam(query.module, net.get_submodule(name))
    coarse = cam.attribute(x.clone(), query.target, relu_attributions=True)
    expected = captum.attr.LayerAttribution.interpolate(coarse, (8, 8), "bilinear")[:, 0]
    assert_close(GradCam(name)(query), expected.detach(), rtol=1e-5, atol=1e-6)


def test_before_global_average_pooling_it_is_cam():
    net = pooled()
    query = ask(net, data(4, 2, 8, 8).double())
    weights = net.head.weight[query.target].detach()  # (N, C)
    expected = torch.einsum("nc,nchw->nhw", weights, net.body[:2](query.x).detach()) / 64
    assert_close(GradCam("body.1", relu=False)(query), expected, rtol=1e-9, atol=1e-12)


def test_what_follows_in_place_does_not_change_the_layer():
    net = cnn()
    expected = GradCam("body.0", relu=False)(ask(net, data(3, 2, 8, 8)))
    net.body[1].inplace = True
    assert_close(GradCam("body.0", relu=False)(ask(net, data(3, 2, 8, 8))), expected, rtol=0, atol=0)


@seeded()
def test_by_default_it_is_the_last_layer_with_more_than_one_place():
    body = nn.Sequential(nn.Conv2d(2, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Conv2d(4, 3, 1), nn.Flatten())
    query = ask(randomised(body), data(3, 2, 8, 8))
    assert_close(GradCam()(query), GradCam("1")(query), rtol=0, atol=0)
    assert GradCam()(query).std() > 0


def test_the_environments_choice_comes_before_the_default():
    query = ask(cnn(), data(3, 2, 8, 8))
    hinted = replace(query, setting=replace(query.setting, hints={"grad_cam": "body.1"}))
    assert_close(GradCam()(hinted), GradCam("body.1")(query), rtol=0, atol=0)
    assert (GradCam()(query) - GradCam("body.1")(query)).abs().max() > 1e-3


def test_an_unknown_layer_is_suggested():
    with pytest.raises(SpecError, match=r"no layer 'body.9'. Did you mean 'body"):
        GradCam("body.9")(ask(cnn(), data(2, 2, 8, 8)))


@seeded()
def test_tables_and_flat_networks_have_no_map():
    with pytest.raises(NotApplicable, match="needs a convolutional layer"):
        GradCam()(ask(mlp(), data(2, 6)))
    flat = randomised(nn.Sequential(nn.Flatten(), nn.Linear(128, 3)))
    with pytest.raises(NotApplicable, match="needs a convolutional layer"):
        GradCam()(ask(flat, data(2, 2, 8, 8)))
    with pytest.raises(NotApplicable, match="does not return an image"):
        GradCam("head.0")(ask(cnn(), data(2, 2, 8, 8)))


@seeded()
def test_a_layer_off_the_way_gets_zeros_and_one_that_never_runs_is_refused():
    class Aside(nn.Module):
        def __init__(self):
            super().__init__()
            self.used, self.aside, self.idle = cnn(), nn.Conv2d(2, 2, 3), nn.Conv2d(2, 2, 3)

        def forward(self, x):
            self.aside(x)
            return self.used(x)

    query = ask(Aside(), data(2, 2, 8, 8))
    assert torch.equal(GradCam("aside")(query), torch.zeros(2, 8, 8))
    with pytest.raises(NotApplicable, match="does not call the chosen one"):
        GradCam("idle")(query)
