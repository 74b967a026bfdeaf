"""Guided backpropagation, against dense matrices layer by layer, and Captum."""

from __future__ import annotations

import captum.attr
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from assay.core.errors import NotApplicable
from assay.methods.gradient import Gradient
from assay.methods.guided_backprop import GuidedBackprop
from scenes import ask, cnn, data, mlp, randomised
from streams import seeded


def matrix(layer, shape):
    """A layer as (outputs, inputs) and a bias, found by asking it about every unit vector."""
    count = torch.Size(shape).numel()
    bias = layer(torch.zeros(1, *shape, dtype=torch.float64))
    units = layer(torch.eye(count, dtype=torch.float64).reshape(count, *shape)) - bias
    return units.flatten(1).T.detach(), bias.flatten().detach(), bias.shape[1:]


def literal(layers, x, target):
    """One sample, one unit at a time; linear layers and ReLUs only."""
    trace, shape, value = [], x.shape, x.flatten()
    for layer in layers:
        if isinstance(layer, nn.Linear | nn.Conv2d):
            weight, bias, shape = matrix(layer, shape if isinstance(layer, nn.Conv2d) else value.shape)
            trace.append(weight)
            value = weight @ value + bias
        elif isinstance(layer, nn.ReLU):
            trace.append(value)
            value = torch.tensor([max(float(z), 0.0) for z in value], dtype=torch.float64)
    signal = torch.zeros_like(value)
    signal[target] = 1
    for step in reversed(trace):
        if step.dim() == 2:
            signal = step.T @ signal
        else:
            passes = [g if z > 0 and g > 0 else 0.0 for z, g in zip(step.tolist(), signal.tolist(), strict=True)]
            signal = torch.tensor(passes, dtype=torch.float64)
    return signal.reshape(x.shape)


def test_attributions_are_the_literal_ones(net, x):
    query = ask(net.double(), torch.cat([x, 0 * x[:1]]).double())
    layers = [module for module in net.modules() if not list(module.children())]
    layers[0].bias.detach().zero_()  # for the last sample the first ReLU's inputs are exactly 0
    expected = [literal(layers, row, int(target)) for row, target in zip(query.x, query.target, strict=True)]
    assert_close(GuidedBackprop()(query), torch.stack(expected), rtol=1e-9, atol=1e-12)
    assert (GuidedBackprop()(query) - Gradient()(query)).abs().max() > 0.01


@pytest.mark.parametrize("readout", ["logit", "probability"])
@pytest.mark.parametrize("pool", [nn.Identity, lambda: nn.MaxPool2d(2), nn.Tanh])
def test_attributions_are_captums_also_with_pooling_tanh_and_softmax(pool, readout):
    net, x = cnn(pool=pool), data(5, 2, 8, 8)
    query = ask(net, x, readout, temperature=2.0)
    found = GuidedBackprop()(query)
    expected = captum.attr.GuidedBackprop(query.module).attribute(x.clone(), query.target).detach()
    assert_close(found, expected, rtol=1e-5, atol=1e-6)
    assert expected.abs().max() > 1e-3


class Functional(nn.Module):
    """As ``layers``, with functions: one in place, one a method of the tensor."""

    def __init__(self, layers: nn.Sequential) -> None:
        super().__init__()
        self.layers = layers

    def forward(self, x):
        x = F.relu(self.layers[0](x), inplace=True)
        return self.layers[4](self.layers[2](x).relu_())


def test_functions_and_modules_in_place_count_as_much_as_modules():
    x = data(4, 6).double()
    expected = GuidedBackprop()(ask(mlp().double(), x))
    in_place = mlp(activation=lambda: nn.ReLU(inplace=True)).double()
    shared = mlp().double()
    shared[3] = shared[1]  # one module, used twice: Captum's hooks mind, rules do not
    for net in (Functional(mlp()).double(), in_place, shared):
        assert torch.equal(GuidedBackprop()(ask(net, x)), expected)


def test_where_no_signal_is_negative_it_is_the_gradient():
    net = mlp().double()
    for parameter in net.parameters():
        parameter.detach().abs_()
    query = ask(net, data(4, 6).double())
    assert_close(GuidedBackprop()(query), Gradient()(query), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("activation", [nn.Tanh, nn.GELU, nn.LeakyReLU, nn.Identity])
def test_a_model_without_relu_is_refused(activation):
    with pytest.raises(NotApplicable, match="needs a ReLU between input and output"):
        GuidedBackprop()(ask(mlp(activation=activation), data(2, 6)))


@seeded()
def test_a_relu_out_of_reach_is_refused():
    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell, self.head = nn.RNN(6, 4, nonlinearity="relu", batch_first=True), nn.Linear(4, 3)

        def forward(self, x):
            return torch.relu(self.head(self.cell(x.unsqueeze(1))[0].squeeze(1)))

    with pytest.raises(NotApplicable, match="needs ReLUs that are called from Python"):
        GuidedBackprop()(ask(randomised(Recurrent()), data(2, 6)))
