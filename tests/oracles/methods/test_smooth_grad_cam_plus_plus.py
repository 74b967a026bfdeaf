"""Smooth Grad-CAM++, against a literal sum over the same noise in every form, and Grad-CAM++ where both are one."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from assay.core.errors import NotApplicable, SpecError
from assay.core.rng import Stream
from assay.methods.cam import GradCamPlusPlus, SmoothGradCamPlusPlus
from oracles.methods.cams import LAYERS, at, enlarged, pooled, weighted
from scenes import ask, cnn, data, mlp


def noisy(net, query, name, samples, noise):
    """For each sample its activations without noise, and those of its copies and the gradients there:
    (samples, C, h, w) both."""
    draws, copies = query.draws("noise"), []
    for _ in range(samples):
        x = query.x + noise * draws.normal(*query.x.shape[1:]).double()
        copies.append(list(at(net, replace(query, x=x), name)))
    for row, (maps, _) in enumerate(at(net, query, name)):
        yield maps, *(torch.stack(found) for found in zip(*(copy[row] for copy in copies), strict=True))


def paper(maps, slopes):
    weights = []
    for channel in range(len(maps)):
        weight, total = 0.0, float(maps[channel].sum())
        for g in slopes[:, channel].flatten(1).T.tolist():  # the copies' gradients at one place
            first, second, third = (sum(value**power for value in g) / len(g) for power in (1, 2, 3))
            if first > 0:
                weight += second / (2 * second + total * third) * first
        weights.append(weight)
    return weights


def torchcam(maps, slopes):
    second, third = (slopes**2).mean(dim=0), (slopes**3).mean(dim=0)
    alpha = second / (2 * second + (third * maps).sum(dim=(1, 2), keepdim=True) + 1e-8)
    return (alpha * slopes[-1].relu()).sum(dim=(1, 2)).tolist()


def clean_maps(oracle, found):
    return weighted((oracle(clean, slopes), clean) for clean, _, slopes in found)


def last_maps(oracle, found):
    return weighted((oracle(clean, slopes), copies[-1]) for clean, copies, slopes in found)


@pytest.mark.parametrize("readout", ["logit", "probability"])
@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("form, oracle", [("paper", paper), ("torchcam", torchcam)])
@pytest.mark.parametrize("maps, added", [("clean", clean_maps), ("last", last_maps)])
def test_the_map_is_the_literal_one_in_every_form(maps, added, form, oracle, name, readout):
    net = cnn().double()
    query = ask(net, data(3, 2, 8, 8).double(), readout, temperature=3.0)
    expected = added(oracle, noisy(net, query, name, 3, 0.5))
    found = SmoothGradCamPlusPlus(name, False, samples=3, noise=0.5, form=form, maps=maps)
    assert_close(found(query), enlarged(expected), rtol=1e-9, atol=1e-12)
    assert_close(replace(found, relu=True)(query), enlarged(expected, relu=True), rtol=1e-9, atol=1e-12)
    assert expected.abs().max() > 1e-6


@pytest.mark.parametrize("maps", ["clean", "last"])
@pytest.mark.parametrize("samples", [1, 3])
def test_without_noise_it_is_grad_cam_plus_plus(samples, maps):
    query = ask(cnn().double(), data(3, 2, 8, 8).double())
    expected = GradCamPlusPlus("body.1")(query)
    found = SmoothGradCamPlusPlus("body.1", samples=samples, noise=0.0, maps=maps)
    assert_close(found(query), expected, rtol=1e-9, atol=1e-12)
    assert (replace(found, noise=0.3)(query) - expected).abs().max() > 1e-3


@pytest.mark.parametrize("form, rtol", [("paper", 1e-9), ("torchcam", 1e-4)])
def test_before_global_average_pooling_noise_matters_to_the_last_copy_s_map_only(form, rtol):
    """Logits of one linear layer have the same gradient everywhere: the paper's Grad-CAM++ of the image itself."""
    net = pooled().double()
    net.head.weight.detach().mul_(100)  # torchcam adds 1e-8 to numbers as small as a squared gradient
    query = ask(net, data(3, 2, 8, 8).double())
    expected = GradCamPlusPlus("body.1")(query)
    found = SmoothGradCamPlusPlus("body.1", form=form)
    assert_close(found(query), expected, rtol=rtol, atol=1e-12)
    assert (replace(found, maps="last")(query) - expected).abs().max() > 0.01 * expected.amax() > 0
    assert (GradCamPlusPlus("body.1", form="torchcam")(query) - expected).abs().max() > 0.01 * expected.amax()
    cold = ask(net, query.x, "probability", temperature=10.0)  # the slope of the softmax is each copy's own
    assert (found(cold) / GradCamPlusPlus("body.1")(cold) - 1).abs().nanmedian() > 1e-3


def test_relu_cuts_off_what_speaks_against_the_class():
    net = cnn(pool=lambda: nn.BatchNorm2d(4)).double()  # values of both signs that no ReLU follows at once
    query = replace(ask(net, data(3, 2, 8, 8).double()), stream=Stream("test", seed=1))
    expected = clean_maps(paper, noisy(net, query, "body.2", 4, 0.3))
    assert_close(SmoothGradCamPlusPlus("body.2", relu=False)(query), enlarged(expected), rtol=1e-9, atol=1e-12)
    assert_close(SmoothGradCamPlusPlus("body.2")(query), enlarged(expected, relu=True), rtol=1e-9, atol=1e-12)
    assert expected.min() < 0 < expected.max()


def test_tiny_gradients_are_not_lost():
    net = cnn().double()
    net.head[2].weight.detach().mul_(1e-30)
    exact = SmoothGradCamPlusPlus("body.1")(ask(net, data(3, 2, 8, 8).double()))
    found = SmoothGradCamPlusPlus("body.1")(ask(net.float(), data(3, 2, 8, 8)))
    assert exact.max() > 0
    assert_close(found.double() / exact.max(), exact / exact.max(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("wrong", [{"samples": 0}, {"noise": -1.0}])
def test_no_copies_are_refused(wrong):
    with pytest.raises(SpecError, match="cannot make noisy copies"):
        SmoothGradCamPlusPlus(**wrong)


def test_tables_have_no_map():
    with pytest.raises(NotApplicable, match="needs a convolutional layer"):
        SmoothGradCamPlusPlus()(ask(mlp(), data(2, 6)))
