"""Two equalities that the IDSDS study's tables show, as identities: Grad-CAM and XGrad-CAM before a global average,
InputXGradient and Integrated Gradients on networks without bias and normalisation."""

import os

import pytest
import torch
from torch import Generator

import assay
from assay.environments.cifar import Cifar
from assay.methods.cam import GradCam, XGradCam
from assay.methods.gradient import InputXGradient
from assay.methods.integrated_gradients import IntegratedGradients
from assay.train.named import last_stage
from assay.train.networks import initialise
from assay.train.resnet import resnet, resnet_wide_stem
from assay.train.vgg import vgg
from scenes import ask, data

needs_data = pytest.mark.skipif("ASSAY_DATA" not in os.environ, reason="needs CIFAR-10 under ASSAY_DATA")


def asked(network, seed=0):
    initialise(network, Generator().manual_seed(seed))
    return ask(network.double().eval().requires_grad_(False), data(6, 3, 16, 16).double())


def apart(one, other):
    """The largest difference, relative to the largest entry; every map says something."""
    assert float(one.flatten(1).abs().amax(dim=1).min()) > 0
    return float((one - other).abs().max() / one.abs().max())


def cams(query):
    layer = last_stage(query.setting.model)
    return GradCam(layer, relu=False)(query), XGradCam(layer, relu=False)(query)


@pytest.mark.parametrize("depth", [8, 20])
def test_before_a_global_average_grad_cam_is_x_grad_cam(depth):
    assert apart(*cams(asked(resnet(depth, 5, width=4)))) < 1e-6  # XGrad-CAM adds 1e-8 to what it divides by


@pytest.mark.parametrize("network", [resnet_wide_stem(8, 5), vgg(11, 64, 5, width=4)], ids=["2 x 2 places", "vgg"])
def test_elsewhere_they_differ(network):
    initialise(network, Generator().manual_seed(0))
    side = 64 if last_stage(network).startswith("features") else 16
    assert apart(*cams(ask(network.eval(), data(6, 3, side, side)))) > 1e-2


@pytest.mark.parametrize("steps", [1, 7])
@pytest.mark.parametrize("depth", [11, 16])
def test_without_bias_and_normalisation_input_x_gradient_is_integrated_gradients(depth, steps):
    query = asked(vgg(depth, 16, 5, width=4, bias=False))
    assert apart(InputXGradient()(query), IntegratedGradients(steps)(query)) < 1e-9


@pytest.mark.parametrize("network", [vgg(11, 16, 5, width=4, norm=True, bias=False), resnet(8, 5, width=4)])
def test_with_normalisation_they_differ(network):
    query = asked(network)
    for layer in query.setting.model.modules():
        if isinstance(layer, torch.nn.BatchNorm2d):
            torch.nn.init.normal_(layer.bias, std=0.3, generator=Generator().manual_seed(1))
    assert apart(InputXGradient()(query), IntegratedGradients(16)(query)) > 1e-2


@pytest.mark.realdata
@needs_data
def test_on_the_published_resnet_20_grad_cam_is_x_grad_cam():
    maps = [assay.attribute(Cifar(), f"{name}(relu=False)", n=16).map for name in ("grad_cam", "x_grad_cam")]
    assert apart(*maps) < 1e-5
