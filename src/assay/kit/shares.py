"""How a layer hands relevance to its inputs: the rules of layer-wise relevance propagation.

A layer is linear in its input: output j is the bias plus contributions x_i w_ij. A rule says which share of an output's
relevance goes to each input. Where a denominator is 0 nothing contributes, and nothing is handed on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from assay.kit.rules import Asked, Call, altered, gradient

CONVOLUTIONS = ("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
LAYERS = ("linear", *CONVOLUTIONS)
ACTIVATIONS = ("tanh", "gelu", "silu", "elu", "selu")  # not homogeneous, 0 at 0


@dataclass(frozen=True, eq=False)
class Layer:
    """A linear layer or a convolution, as it was called."""

    func: Callable[..., Tensor]
    weight: Tensor
    bias: Tensor | None
    rest: tuple[Any, ...]
    named: Mapping[str, Any]

    @classmethod
    def of(cls, asked: Asked) -> Layer:
        rest, named = list(asked.rest), dict(asked.named)
        weight = named.pop("weight") if "weight" in named else rest.pop(0)
        bias = rest.pop(0) if rest else named.pop("bias", None)
        return cls(asked.func, weight.detach(), None if bias is None else bias.detach(), tuple(rest), named)

    def __call__(self, values: Tensor) -> Tensor:
        return self.sums(values, self.weight, self.bias)

    def sums(self, values: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        """The layer's outputs with another weight and bias."""
        return self.func(values, weight, bias, *self.rest, **self.named)

    def back(self, values: Tensor, weight: Tensor, shares: Tensor) -> Tensor:
        """To every input, the sum over outputs of weight times share."""
        return gradient(lambda inputs: self.sums(inputs, weight), values, shares)

    def normed(
        self, mean: Tensor, variance: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float
    ) -> Layer | None:
        """The layer together with the batch normalisation that follows it; None for transposed convolutions."""
        if "transpose" in self.func.__name__:
            return None
        scale = (variance + eps).rsqrt() if weight is None else weight * (variance + eps).rsqrt()
        shift = -mean * scale if bias is None else bias - mean * scale
        shift = shift if self.bias is None else shift + self.bias * scale
        wide = scale.view(-1, *[1] * (self.weight.dim() - 1))
        return replace(self, weight=(self.weight * wide).detach(), bias=shift.detach())


Share = Callable[[Layer, Tensor, Tensor], Tensor]  # layer, its input, relevance of its output -> of its input


@dataclass(frozen=True)
class Epsilon:
    """In proportion to contributions, the output being moved from 0 by epsilon (Bach et al., 2015)."""

    epsilon: float

    def __call__(self, layer: Layer, values: Tensor, relevance: Tensor) -> Tensor:
        shares = relevance / away(layer(values), self.epsilon)
        return values * layer.back(values, layer.weight, shares)


@dataclass(frozen=True)
class AlphaBeta:
    """Alpha times in proportion to positive contributions, minus beta times to negative ones (Bach et al., 2015).

    The bias takes its share on the side where it is. With alpha 1 and beta 0, the z+ rule (Montavon et al., 2017).
    """

    alpha: float
    beta: float

    def __call__(self, layer: Layer, values: Tensor, relevance: Tensor) -> Tensor:
        handed = torch.zeros_like(values)
        for factor, sign in ((self.alpha, 1), (-self.beta, -1)):
            if factor:
                side = Side(layer, values, sign)
                handed = handed + factor * side.hand(quotient(relevance, side.sums))
        return handed


@dataclass(frozen=True)
class Gamma:
    """In proportion to contributions, those that have the output's sign counting (1 + gamma) times.

    For inputs and outputs that are not negative, Montavon et al., 2019; else as generalised by Andéol et al., 2021.
    """

    gamma: float

    def __call__(self, layer: Layer, values: Tensor, relevance: Tensor) -> Tensor:
        outputs = layer(values)
        handed = torch.zeros_like(values)
        for sign, chosen in ((1, outputs >= 0), (-1, outputs < 0)):
            side = Side(layer, values, sign)
            shares = quotient(relevance.where(chosen, 0), outputs + self.gamma * side.sums)
            handed = handed + values * layer.back(values, layer.weight, shares) + self.gamma * side.hand(shares)
        return handed


def flat(layer: Layer, values: Tensor, relevance: Tensor) -> Tensor:
    """Equally to all inputs that an output reads, whatever they are (Lapuschkin et al., 2019)."""
    ones = torch.ones_like(layer.weight)
    return layer.back(values, ones, quotient(relevance, layer.sums(torch.ones_like(values), ones)))


@dataclass(frozen=True, eq=False)
class Box:
    """In proportion to how far contributions are above the least that inputs from ``low`` to ``high`` can make
    (z^B; Montavon et al., 2017). The bias takes nothing.
    """

    low: Tensor
    high: Tensor

    def __call__(self, layer: Layer, values: Tensor, relevance: Tensor) -> Tensor:
        plus, minus = layer.weight.clamp(min=0), layer.weight.clamp(max=0)
        above, below = values - self.low, values - self.high
        shares = quotient(relevance, layer.sums(above, plus) + layer.sums(below, minus))
        return above * layer.back(values, plus, shares) + below * layer.back(values, minus, shares)


class Side:
    """The contributions of one sign, and the bias where it has it."""

    def __init__(self, layer: Layer, values: Tensor, sign: int) -> None:
        up, down = values.clamp(min=0), values.clamp(max=0)
        plus, minus = layer.weight.clamp(min=0), layer.weight.clamp(max=0)
        pairs = ((up, plus), (down, minus)) if sign > 0 else ((up, minus), (down, plus))
        bias = None if layer.bias is None else (sign * layer.bias).clamp(min=0) * sign
        self.layer = layer
        self.pairs = [pair for pair in pairs if bool(pair[0].any())] or list(pairs[:1])
        first, *others = self.pairs
        self.sums = layer.sums(*first, bias)
        for pair in others:
            self.sums = self.sums + layer.sums(*pair)

    def hand(self, shares: Tensor) -> Tensor:
        """To every input, the sum over outputs of contribution times share."""
        parts = [part * self.layer.back(part, weight, shares) for part, weight in self.pairs]
        return torch.stack(parts).sum(dim=0)


def away(values: Tensor, epsilon: float) -> Tensor:
    """Values, moved from 0 by epsilon."""
    return torch.where(values < 0, values - epsilon, values + epsilon)


def quotient(above: Tensor, below: Tensor) -> Tensor:
    """0 where the denominator is."""
    return torch.where(below == 0, 0, above / below)


def passed(call: Call, values: Tensor) -> Tensor:
    """An activation that hands on what it receives, where the gradient is relevance over value."""
    return altered(call, values, _share)


def _share(call: Call, z: Tensor, grad: Tensor) -> Tensor:
    # Towards 0 the share f(z) / z becomes the derivative, as these functions are 0 at 0.
    return torch.where(z == 0, gradient(call, z, grad), grad * call(z) / z)
