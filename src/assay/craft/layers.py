"""Layers with given weights, frozen from the start. Making them draws nothing from torch's global random stream."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def frozen(values: Tensor) -> nn.Parameter:
    """float32 values as a parameter that is never trained."""
    return nn.Parameter(values.to(torch.float32), requires_grad=False)


def linear(weight: Tensor, bias: Tensor) -> nn.Linear:
    """``weight`` is (out, in)."""
    layer = nn.Linear(weight.shape[1], weight.shape[0], device="meta")  # meta: draws no random weights
    layer.weight, layer.bias = frozen(weight), frozen(bias)
    return layer


def convolution(
    weight: Tensor, bias: Tensor, stride: tuple[int, int] = (1, 1), padding: tuple[int, int] = (0, 0)
) -> nn.Conv2d:
    """``weight`` is (out, in, height, width)."""
    out, into, height, width = weight.shape
    layer = nn.Conv2d(into, out, (height, width), stride=stride, padding=padding, device="meta")
    layer.weight, layer.bias = frozen(weight), frozen(bias)
    return layer


def pixelwise(weight: Tensor, bias: Tensor) -> nn.Conv2d:
    """A linear layer (out, in) applied at every pixel: a 1x1 convolution."""
    return convolution(weight[:, :, None, None], bias)
