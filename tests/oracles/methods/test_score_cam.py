"""Score-CAM, against a literal loop over channels."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from assay.core.errors import NotApplicable
from assay.methods.cam import ScoreCam
from oracles.methods.cams import LAYERS, enlarged, pooled, split, weighted
from scenes import TINY, Flat, ask, cnn, data, mlp, randomised
from streams import seeded


def literal(net, query, name, row, softmax):
    """One sample, one masked input at a time."""
    before, _ = split(net, name)
    maps = before(query.x[row : row + 1])[0].detach()
    start, target = query.baseline[row], query.target[row]

    def score(x):
        return float(query.module(x[None])[0, target])

    increases = []
    for channel in maps:
        mask = F.interpolate(channel[None, None], (8, 8), mode="bilinear", align_corners=False)[0, 0]
        if mask.max() == mask.min():
            increases.append(None)
            continue
        mask = (mask - mask.min()) / (mask.max() - mask.min())
        increases.append(score(query.x[row] * mask + start * (1 - mask)) - score(start))
    whole = sum(math.exp(value) for value in increases if value is not None)
    weights = [math.exp(value) / whole if softmax and value is not None else value or 0.0 for value in increases]
    return weights, maps


@pytest.mark.parametrize("readout", ["logit", "probability"])
@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("weights", ["softmax", "increase"])
@pytest.mark.parametrize("baseline", [0.0, 0.7])
def test_the_map_is_the_literal_one(name, readout, weights, baseline):
    net = cnn().double()
    query = ask(net, data(3, 2, 8, 8).double(), readout, baseline, temperature=3.0)
    expected = weighted(literal(net, query, name, row, weights == "softmax") for row in range(3))
    assert_close(ScoreCam(name, False, weights)(query), enlarged(expected), rtol=1e-9, atol=1e-12)
    assert_close(ScoreCam(name, weights=weights)(query), enlarged(expected, relu=True), rtol=1e-9, atol=1e-12)
    assert expected.abs().max() > 1e-3


def test_relu_cuts_off_what_speaks_against_the_class():
    net = cnn(pool=lambda: nn.BatchNorm2d(4)).double()  # values of both signs that no ReLU follows at once
    query = ask(net, data(3, 2, 8, 8).double())
    expected = weighted(literal(net, query, "body.2", row, True) for row in range(3))
    assert_close(ScoreCam("body.2", relu=False)(query), enlarged(expected), rtol=1e-9, atol=1e-12)
    assert_close(ScoreCam("body.2")(query), enlarged(expected, relu=True), rtol=1e-9, atol=1e-12)
    assert expected.min() < 0 < expected.max()


def test_one_channel_has_the_weight_1():
    net = pooled(channels=1)
    query = ask(net, data(4, 2, 8, 8).double())
    assert_close(ScoreCam("body.1")(query), net.body[:2](query.x)[:, 0].detach(), rtol=1e-12, atol=1e-12)


def test_weights_of_the_softmax_sum_to_1():
    net = pooled(channels=4)
    convolution = net.body[0]
    convolution.weight.detach()[1:] = convolution.weight.detach()[:1]
    convolution.bias.detach()[1:] = convolution.bias.detach()[:1]  # four times the same channel
    query = ask(net, data(4, 2, 8, 8).double())
    assert_close(ScoreCam("body.1")(query), net.body[:2](query.x)[:, 0].detach(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("weights", ["softmax", "increase"])
def test_a_channel_that_is_the_same_everywhere_weighs_nothing(weights):
    net = pooled(channels=3)
    query = ask(net, data(4, 2, 8, 8).double())
    net.body[0].weight.detach()[2] = 0
    net.body[0].bias.detach()[2] = 0.3
    expected = weighted(literal(net, query, "body.1", row, weights == "softmax") for row in range(4))
    assert_close(ScoreCam("body.1", weights=weights)(query), enlarged(expected, relu=True), rtol=1e-9, atol=1e-12)
    net.body[0].weight.detach().zero_()
    assert torch.equal(ScoreCam("body.1", weights=weights)(query), torch.zeros(4, 8, 8, dtype=torch.float64))


def test_masks_fill_calls_of_any_size():
    query = ask(cnn().double(), data(3, 2, 8, 8).double())
    expected = ScoreCam("body.1")(query)
    for rows in (1, 3, 8):
        machine = replace(TINY, memory=query.footprint.gradient * rows)
        assert_close(ScoreCam("body.1")(replace(query, machine=machine)), expected, rtol=1e-12, atol=1e-12)


@seeded()
def test_no_gradients_are_needed():
    class Steps(nn.Module):
        def forward(self, x):
            return torch.floor(4 * x.detach())

    net = randomised(Flat(nn.Sequential(nn.Conv2d(2, 3, 3), Steps()), nn.Linear(108, 3)))
    query = ask(net, data(3, 2, 8, 8))
    query = replace(query, setting=replace(query.setting, differentiable=False))
    found = ScoreCam()(query)
    assert found.std() > 0
    assert_close(found, ScoreCam("body.1")(query), rtol=0, atol=0)


def test_tables_have_no_map():
    with pytest.raises(NotApplicable, match="needs a convolutional layer"):
        ScoreCam()(ask(mlp(), data(2, 6)))
