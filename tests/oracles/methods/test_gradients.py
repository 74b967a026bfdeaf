"""Gradient and input times gradient, against differences and Captum."""

from __future__ import annotations

import captum.attr
import pytest
import torch
from torch.testing import assert_close

from assay.methods.gradient import Gradient, InputXGradient
from scenes import ask, data, mlp


@pytest.mark.parametrize("readout", ["logit", "probability", "margin"])
def test_the_gradient_is_what_central_differences_give(readout):
    query = ask(mlp().double(), data(4, 6).double(), readout, temperature=2.0)
    h = 1e-6
    found = torch.zeros(4, 6, dtype=torch.float64)
    for row in range(4):
        for column in range(6):
            step = torch.zeros(1, 6, dtype=torch.float64)
            step[0, column] = h
            above, below = (query.module(query.x[row : row + 1] + sign * step) for sign in (1, -1))
            found[row, column] = ((above - below) / (2 * h))[0, query.target[row]].detach()
    assert_close(Gradient()(query), found, rtol=1e-6, atol=1e-7)


def test_the_gradient_is_captums_saliency_with_its_sign(net, x):
    query = ask(net, x, "probability")
    expected = captum.attr.Saliency(query.module).attribute(x.clone(), query.target, abs=False)
    assert_close(Gradient()(query), expected, rtol=1e-6, atol=1e-7)
    assert expected.min() < 0


def test_input_x_gradient_is_captums(net, x):
    query = ask(net, x, baseline=0.7)
    expected = captum.attr.InputXGradient(net).attribute(x.clone(), query.target).detach()
    assert_close(InputXGradient()(query), expected, rtol=1e-6, atol=1e-7)
