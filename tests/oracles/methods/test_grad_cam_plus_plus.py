"""Grad-CAM++, against derivatives of exp(score) that autograd takes three times, and torchcam's lines."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from assay.core.errors import NotApplicable
from assay.methods.cam import GradCamPlusPlus
from oracles.methods.cams import LAYERS, at, enlarged, pooled, split, weighted
from scenes import ask, cnn, data, mlp


def derivatives(function, value):
    """The first three derivatives of a function of one number."""
    value, found = value.clone().requires_grad_(), []
    result = function(value)
    for _ in range(3):
        (result,) = torch.autograd.grad(result, value, create_graph=True)
        found.append(float(result))
    return found


def literal(net, query, name, row):
    """The paper's weights for Y = exp(logit), each from the derivatives by its own activation; without the factor Y."""
    before, after = split(net, name)
    maps = before(query.x[row : row + 1]).detach()
    y = float(after(maps)[0, query.target[row]].exp())
    weights = []
    for channel in range(maps.shape[1]):
        total, weight = float(maps[0, channel].sum()), 0.0
        for place in torch.cartesian_prod(*(torch.arange(size) for size in maps.shape[2:])).tolist():
            index = (torch.tensor([0]), torch.tensor([channel]), *(torch.tensor([axis]) for axis in place))

            def exponential(value, index=index):
                return after(maps.index_put(index, value))[0, query.target[row]].exp()

            first, second, third = derivatives(exponential, maps[index])
            if first > 0:
                weight += second / (2 * second + total * third) * first / y
        weights.append(weight)
    return weights, maps[0]


@pytest.mark.parametrize("name", LAYERS)
def test_weights_are_the_papers_derivatives(name):
    net = cnn().double()
    query = ask(net, data(2, 2, 8, 8).double())
    expected = weighted(literal(net, query, name, row) for row in range(2))
    assert_close(GradCamPlusPlus(name, relu=False)(query), enlarged(expected), rtol=1e-9, atol=1e-12)
    assert_close(GradCamPlusPlus(name)(query), enlarged(expected, relu=True), rtol=1e-9, atol=1e-12)
    assert expected.abs().max() > 1e-3


def powers(maps, slopes):
    """The formula with powers of the gradient."""
    alpha = slopes**2 / (2 * slopes**2 + maps.sum(dim=(1, 2), keepdim=True) * slopes**3)
    return (alpha.nan_to_num(0) * slopes.clamp(min=0)).sum(dim=(1, 2)).tolist(), maps


def torchcam(maps, slopes):
    """torchcam 0.4: what is divided is a copy."""
    alpha, mask = slopes**2, slopes**2 > 0
    below = 2 * slopes**2 + (slopes**3 * maps).sum(dim=(1, 2), keepdim=True)
    alpha[mask].div_(below[mask] + 1e-8)
    return alpha.mul_(slopes.relu()).sum(dim=(1, 2)).tolist(), maps


@pytest.mark.parametrize("readout", ["logit", "probability"])
@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("form, oracle", [("paper", powers), ("torchcam", torchcam)])
def test_the_map_is_the_literal_one_in_both_forms(form, oracle, name, readout):
    net = cnn().double()
    query = ask(net, data(3, 2, 8, 8).double(), readout, temperature=3.0)
    expected = weighted(oracle(*pair) for pair in at(net, query, name))
    assert_close(GradCamPlusPlus(name, False, form)(query), enlarged(expected), rtol=1e-9, atol=1e-12)
    assert expected.abs().max() > 1e-6


def test_relu_cuts_off_what_speaks_against_the_class():
    net = cnn(pool=lambda: nn.BatchNorm2d(4)).double()  # values of both signs that no ReLU follows at once
    query = ask(net, data(3, 2, 8, 8).double())
    expected = weighted(powers(*pair) for pair in at(net, query, "body.2"))
    assert_close(GradCamPlusPlus("body.2", relu=False)(query), enlarged(expected), rtol=1e-9, atol=1e-12)
    assert_close(GradCamPlusPlus("body.2")(query), enlarged(expected, relu=True), rtol=1e-9, atol=1e-12)
    assert expected.min() < 0 < expected.max()


def test_before_global_average_pooling_each_channel_has_its_closed_form():
    net, places = pooled(), 64
    query = ask(net, data(4, 2, 8, 8).double())
    maps = net.body[:2](query.x).detach()
    slope = (net.head.weight[query.target].detach() / places).clamp(min=0)  # (N, C), the same at every place
    weights = places * slope / (2 + maps.sum(dim=(2, 3)) * slope)
    expected = (weights[:, :, None, None] * maps).sum(dim=1)
    assert_close(GradCamPlusPlus("body.1")(query), expected, rtol=1e-9, atol=1e-12)
    assert expected.min() >= 0


def test_at_gradients_of_half_a_thousandth_nothing_is_added_to_the_denominator():
    """Programs that add 1e-8 to it are off by percents here, where it is 2 g^2 + sum(A) g^3 = 5e-7 and less."""
    net = pooled()
    with torch.no_grad():
        net.head.weight.copy_(64 * 5e-4 * torch.tensor([[1.0, -1, 2, 0.5], [0.1, 1, -2, 1], [-1, 0.3, 1, -0.2]]))
    query = ask(net, data(3, 2, 8, 8).double())
    expected = torch.zeros(3, 8, 8, dtype=torch.float64)
    for row, target in enumerate(query.target.tolist()):
        maps = net.body[:2](query.x[row : row + 1])[0].detach()
        for channel, weight in enumerate(net.head.weight[target].tolist()):
            g, total = weight / 64, float(maps[channel].sum())
            alpha = g**2 / (2 * g**2 + total * g**3)
            expected[row] += 64 * alpha * max(g, 0.0) * maps[channel]
    found = GradCamPlusPlus("body.1")(query)
    assert_close(found, expected, rtol=1e-12, atol=0)
    assert (found > 0).any()


def test_tiny_gradients_are_not_lost():
    net = pooled()
    query = ask(net, data(2, 2, 8, 8).double())
    net.head.weight.detach().mul_(1e-30)
    exact = GradCamPlusPlus("body.1")(query)
    found = GradCamPlusPlus("body.1")(ask(net.float(), data(2, 2, 8, 8)))
    assert exact.max() > 0
    assert_close(found.double() / exact.max(), exact / exact.max(), rtol=1e-5, atol=1e-6)


def test_tables_have_no_map():
    with pytest.raises(NotApplicable, match="needs a convolutional layer"):
        GradCamPlusPlus()(ask(mlp(), data(2, 6)))
