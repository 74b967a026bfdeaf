"""What the autograd graph says about a model."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from assay.kit.backward.graph import nonlinear_operations

WEIGHT = torch.randn(8, 8, generator=torch.Generator().manual_seed(0)).requires_grad_()
LINEAR = {
    "shape": lambda x: x.permute(0, 2, 3, 1).reshape(len(x), -1).unsqueeze(1).squeeze(1)[:, 2:],
    "sums": lambda x: 2 * x.mean((2, 3)) - x.sum((2, 3)) / 3 + 1,
    "products": lambda x: F.linear(x @ WEIGHT, WEIGHT, WEIGHT[0]),
    "einsum": lambda x: torch.einsum("bchw,wd->bchd", x, WEIGHT),
    "cut and paste": lambda x: torch.cat([*x.split(1, 1), torch.stack(x.unbind(1), 1)], 1),
    "convolution": lambda x: F.conv2d(x, WEIGHT[:3, :2, None, None], WEIGHT[0, :3]),
    "transposed convolution": lambda x: F.conv_transpose2d(x, WEIGHT[:2, :3, None, None]),
    "average": lambda x: F.interpolate(F.avg_pool2d(F.pad(x, (1, 1, 1, 1)), 2), scale_factor=2, mode="bilinear"),
    "batch normalisation": nn.BatchNorm2d(2).eval(),
    "dropout": nn.Dropout().eval(),
    "in place": lambda x: x.clone().add_(1).mul_(2),
    "assignment": lambda x: _assigned(x),
    "constant nonlinearity": lambda x: x * torch.exp(WEIGHT),
}
BENT = {
    "Relu": F.relu,
    "Mul": lambda x: x * x,
    "Bmm": lambda x: x[:, 0] @ x[:, 1].transpose(1, 2),
    "Div": lambda x: x / x.sum(),
    "Pow": lambda x: x**2,
    "NativeBatchNorm": nn.BatchNorm2d(2).train(),
    "NativeLayerNorm": nn.LayerNorm(8),
    "Amax": lambda x: x.amax(1),
    "Clamp": lambda x: x.clamp(min=0),
    "Where": lambda x: torch.where(x > 0, x, 0.0),
    "Sort": lambda x: x.sort().values,
}


def _assigned(x):
    result = torch.zeros_like(x)
    result[:, 0] = x[:, 1]
    return result


def source():
    return torch.randn(3, 2, 8, 8, generator=torch.Generator().manual_seed(1)).requires_grad_()


@pytest.mark.parametrize("name", LINEAR)
def test_linear_operations_pass(name):
    x = source()
    assert nonlinear_operations(LINEAR[name](x), x, ()) == []


@pytest.mark.parametrize("name", BENT)
def test_what_is_not_linear_is_found_behind_linear_operations(name):
    x = source()
    output = F.linear(BENT[name](x.transpose(2, 3)), WEIGHT).sum()
    assert nonlinear_operations(output, x, ()) == [name]
    assert nonlinear_operations(output, x, {name}) == []


def test_a_constant_that_is_computed_does_not_count():
    x = source()
    assert nonlinear_operations((x + torch.exp(WEIGHT).sum()) * torch.sigmoid(WEIGHT), x, ()) == []


def test_an_output_that_does_not_depend_on_x_has_no_operations():
    assert nonlinear_operations(WEIGHT.exp(), source(), ()) == []
    assert nonlinear_operations(torch.ones(3), source(), ()) == []


def test_deep_networks_do_not_exhaust_the_stack():
    x = output = source()
    for _ in range(5000):
        output = output + 1
    assert nonlinear_operations(torch.exp(output), x, ()) == ["Exp"]
