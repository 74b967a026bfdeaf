"""LRP, against relevance sent through dense matrices layer by layer, and Captum."""

from __future__ import annotations

import captum.attr
import pytest
import torch
from captum.attr._utils.lrp_rules import EpsilonRule
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from assay.core.errors import NotApplicable
from assay.methods.gradient import InputXGradient
from assay.methods.lrp import Lrp
from assay.methods.lrp_composite import LrpComposite
from scenes import ask, cnn, data, mlp, randomised
from streams import seeded

LAYERS = (nn.Linear, nn.Conv2d)


def matrix(layer, shape):
    """A layer as (outputs, inputs) and a bias, found by asking it about every unit vector."""
    count = torch.Size(shape).numel()
    bias = layer(torch.zeros(1, *shape, dtype=torch.float64))
    units = layer(torch.eye(count, dtype=torch.float64).reshape(count, *shape)) - bias
    return units.flatten(1).T.detach(), bias.flatten().detach(), bias.shape[1:]


def literal(layers, x, target, epsilon):
    """Relevance of one sample, one layer at a time, one output at a time."""
    trace, shape, value = [], x.shape, x.flatten()
    for layer in layers:
        if isinstance(layer, LAYERS):
            shape = shape if isinstance(layer, nn.Conv2d) else value.shape
            weight, bias, shape = matrix(layer, shape)
            trace.append((value, weight, weight @ value + bias))
            value = trace[-1][2]
        else:
            value = layer(value[None])[0].detach()
    relevance = torch.zeros_like(value)
    relevance[target] = value[target]
    for value, weight, z in reversed(trace):
        handed = torch.zeros_like(value)
        for j in range(len(z)):
            sign = -1 if z[j] < 0 else 1
            handed += value * weight[j] * relevance[j] / (z[j] + epsilon * sign)
        relevance = handed
    return relevance.reshape(x.shape)


def flat_layers(net):
    return [module for module in net.modules() if not list(module.children())]


@pytest.mark.parametrize("epsilon", [1e-9, 0.1, 1.0])
def test_relevance_is_the_literal_one(net, x, epsilon):
    query = ask(net.double(), x.double(), baseline=0.7)  # which does not matter
    found = Lrp(epsilon)(query)
    layers = flat_layers(net)
    expected = [literal(layers, row, int(target), epsilon) for row, target in zip(query.x, query.target, strict=True)]
    assert_close(found, torch.stack(expected), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("activation", [nn.Tanh, nn.SELU])
def test_curves_hand_on_what_they_receive(activation):
    net = mlp(activation=activation).double()
    query = ask(net, data(4, 6).double())
    expected = [literal(net, row, int(target), 0.05) for row, target in zip(query.x, query.target, strict=True)]
    assert_close(Lrp(0.05)(query), torch.stack(expected), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("epsilon", [1e-9, 0.1])
@pytest.mark.parametrize("pool", [lambda: nn.MaxPool2d(2), lambda: nn.AvgPool2d(2), nn.ReLU])
def test_convolutions_and_pooling_are_captums(pool, epsilon):
    net, x = cnn(pool=pool), data(5, 2, 8, 8)
    query = ask(net, x)
    found = Lrp(epsilon)(query)
    for layer in flat_layers(net):
        if isinstance(layer, LAYERS):
            layer.rule = EpsilonRule(epsilon)
    expected = captum.attr.LRP(net).attribute(x.clone(), query.target)
    assert_close(found, expected.detach(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("activation", [nn.ReLU, nn.Tanh])
def test_multilayer_perceptrons_are_captums(activation):
    net, x = mlp(activation=activation), data(5, 6)
    query = ask(net, x)
    assert_close(Lrp()(query), captum.attr.LRP(net).attribute(x.clone(), query.target).detach(), rtol=1e-5, atol=1e-6)


def test_relu_networks_give_input_times_gradient_up_to_epsilon(net, x):
    query = ask(net.double(), x.double())
    assert_close(Lrp()(query), InputXGradient()(query), rtol=1e-5, atol=1e-8)
    assert (Lrp(0.5)(query) - InputXGradient()(query)).abs().max() > 0.01


class Functional(nn.Module):
    """As ``layers``, with functions instead of modules, one ReLU in place, and one layer around a sum of two paths."""

    def __init__(self, layers: nn.Sequential) -> None:
        super().__init__()
        self.layers = layers

    def forward(self, x):
        x = F.relu(self.layers[0](x), inplace=True)
        x = torch.relu(F.linear(x, self.layers[2].weight, self.layers[2].bias))
        return self.layers[4](x / 2 + x * 0.5)


def test_functions_count_as_much_as_modules():
    x = data(4, 6).double()
    expected = Lrp(0.2)(ask(mlp().double(), x))
    assert_close(Lrp(0.2)(ask(Functional(mlp()).double(), x)), expected, rtol=1e-9, atol=1e-12)


def test_nn_flatten_is_no_obstacle():
    net, x = cnn(), data(3, 2, 8, 8)
    sequential = nn.Sequential(net.body, nn.Flatten(), net.head)
    assert_close(Lrp(0.1)(ask(sequential, x)), Lrp(0.1)(ask(net, x)), rtol=0, atol=0)


class Added(nn.Module):
    """A layer of ones that reads the sum of two halves of the input."""

    @seeded()
    def __init__(self) -> None:
        super().__init__()
        self.ones = nn.Linear(3, 1, bias=False)
        nn.init.ones_(self.ones.weight)

    def forward(self, x):
        return self.ones(x[:, :3] + x[:, 3:])


@pytest.mark.parametrize("method", [Lrp(), LrpComposite(), LrpComposite("epsilon_alpha2_beta1")])
@pytest.mark.parametrize("dtype, off", [(torch.float64, 1e-7), (torch.float32, 1e-6)])
def test_the_summands_of_a_layer_of_ones_get_what_they_are(method, dtype, off):
    a = torch.tensor([1.0, 2.0, 3.0])
    query = ask(Added().to(dtype), torch.cat([a, 3 * a])[None].to(dtype), "value")
    assert_close(method(query)[0], torch.tensor([1.0, 2, 3, 3, 6, 9], dtype=dtype), rtol=off, atol=0)


@seeded()
def test_a_sum_of_two_paths_shares_relevance_by_contribution():
    class Skip(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.outer = nn.Linear(4, 4), nn.Linear(4, 2)

        def forward(self, x):
            return self.outer(F.relu(self.inner(x)) + x)

    net = randomised(Skip()).double()
    query = ask(net, data(3, 4).double())
    expected = torch.zeros(3, 4, dtype=torch.float64)
    for row, (x, target) in enumerate(zip(query.x, query.target, strict=True)):
        inner = net.inner(x).detach()
        through, around = torch.relu(inner), x
        share = net.outer.weight[target].detach()  # epsilon -> 0: the output's relevance over the output is 1
        for i in range(4):
            paths = sum(through[j] * share[j] * net.inner.weight[j, i] * x[i] / inner[j] for j in range(4))
            expected[row, i] = paths + around[i] * share[i]
    assert_close(Lrp(1e-12)(query), expected.detach(), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    "last, name", [(nn.Softmax(1), "Softmax"), (nn.Sigmoid(), "Sigmoid"), (nn.LayerNorm(3), "LayerNorm")]
)
def test_layers_without_a_rule_are_named(last, name):
    net = nn.Sequential(*mlp(), last)
    with pytest.raises(NotApplicable, match=f"'model.5' is {name}"):
        Lrp()(ask(net, data(2, 6)))


def test_the_probability_readout_is_refused_by_name():
    with pytest.raises(NotApplicable, match=r"'readout.1' is Softmax"):
        Lrp()(ask(mlp(), data(2, 6), "probability", temperature=2.0))


@pytest.mark.parametrize(
    "function, operation",
    [(torch.sigmoid, "Sigmoid"), (lambda x: x * x, "Mul"), (lambda x: x / x.sum(), "Div"), (torch.exp, "Exp")],
)
def test_functions_without_a_rule_are_named(function, operation):
    class Bent(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = mlp()

        def forward(self, x):
            return function(self.layers(x))

    with pytest.raises(NotApplicable, match=f"needs layers .* computes .*{operation}"):
        Lrp()(ask(Bent(), data(2, 6)))
