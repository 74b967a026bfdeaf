"""The rules of layer-wise relevance propagation: how a layer distributes relevance to its inputs.

A layer is linear in its input: output j is the bias plus contributions x_i w_ij. A rule defines which share of an
output's relevance goes to each input. Where a denominator is 0, nothing contributes and no relevance is passed on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from assay.kit.backward.rules import Call, ModelCall, call_with_rule, gradient

CONVOLUTIONS = ("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
LAYERS = ("linear", *CONVOLUTIONS)
ACTIVATIONS = ("tanh", "gelu", "silu", "elu", "selu")  # not homogeneous, 0 at 0


@dataclass(frozen=True, eq=False)
class Layer:
    """A linear layer or a convolution, with the arguments of its call."""

    func: Callable[..., Tensor]
    weight: Tensor
    bias: Tensor | None
    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any]

    @classmethod
    def of(cls, call: ModelCall) -> Layer:
        arguments, keywords = list(call.arguments), dict(call.keywords)
        weight = keywords.pop("weight") if "weight" in keywords else arguments.pop(0)
        bias = arguments.pop(0) if arguments else keywords.pop("bias", None)
        return cls(call.func, weight.detach(), None if bias is None else bias.detach(), tuple(arguments), keywords)

    def __call__(self, values: Tensor) -> Tensor:
        return self.outputs_with(values, self.weight, self.bias)

    def outputs_with(self, values: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        """The layer's outputs with another weight and bias."""
        return self.func(values, weight, bias, *self.arguments, **self.keywords)

    def to_inputs(self, values: Tensor, weight: Tensor, shares: Tensor) -> Tensor:
        """For every input, the sum over outputs of weight times share."""
        return gradient(lambda inputs: self.outputs_with(inputs, weight), values, shares)

    def merged_with_batch_norm(
        self, mean: Tensor, variance: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float
    ) -> Layer | None:
        """One layer for this one and the batch normalisation after it; None for transposed convolutions."""
        if "transpose" in self.func.__name__:
            return None
        scale = (variance + eps).rsqrt() if weight is None else weight * (variance + eps).rsqrt()
        shift = -mean * scale if bias is None else bias - mean * scale
        shift = shift if self.bias is None else shift + self.bias * scale
        wide = scale.view(-1, *[1] * (self.weight.dim() - 1))
        return replace(self, weight=(self.weight * wide).detach(), bias=shift.detach())


LayerRule = Callable[[Layer, Tensor, Tensor], Tensor]  # layer, its input, relevance of its output -> of its input


@dataclass(frozen=True)
class Epsilon:
    """In proportion to contributions, with epsilon added to the size of the output (Bach et al., 2015)."""

    epsilon: float

    def __call__(self, layer: Layer, values: Tensor, relevance: Tensor) -> Tensor:
        shares = relevance / away_from_zero(layer(values), self.epsilon)
        return values * layer.to_inputs(values, layer.weight, shares)


@dataclass(frozen=True)
class AlphaBeta:
    """Alpha times the shares of positive contributions, minus beta times those of negative ones (Bach et al., 2015).

    The bias takes a share among contributions of its sign. Alpha 1 and beta 0: the z+ rule (Montavon et al., 2017).
    """

    alpha: float
    beta: float

    def __call__(self, layer: Layer, values: Tensor, relevance: Tensor) -> Tensor:
        total = torch.zeros_like(values)
        for factor, sign in ((self.alpha, 1), (-self.beta, -1)):
            if factor:
                side = SignedContributions(layer, values, sign)
                total = total + factor * side.to_inputs(quotient(relevance, side.sums))
        return total


@dataclass(frozen=True)
class Gamma:
    """In proportion to contributions, where those with the output's sign count (1 + gamma) times.

    For non-negative inputs and outputs, Montavon et al., 2019; else as generalised by Andéol et al., 2021.
    """

    gamma: float

    def __call__(self, layer: Layer, values: Tensor, relevance: Tensor) -> Tensor:
        outputs = layer(values)
        total = torch.zeros_like(values)
        for sign, selected in ((1, outputs >= 0), (-1, outputs < 0)):
            side = SignedContributions(layer, values, sign)
            shares = quotient(relevance.where(selected, 0), outputs + self.gamma * side.sums)
            total = total + values * layer.to_inputs(values, layer.weight, shares) + self.gamma * side.to_inputs(shares)
        return total


def flat_rule(layer: Layer, values: Tensor, relevance: Tensor) -> Tensor:
    """Equally to all inputs that an output reads, whatever their values (Lapuschkin et al., 2019)."""
    ones = torch.ones_like(layer.weight)
    return layer.to_inputs(values, ones, quotient(relevance, layer.outputs_with(torch.ones_like(values), ones)))


@dataclass(frozen=True, eq=False)
class Box:
    """In proportion to how far each contribution exceeds the least one that an input from ``low`` to ``high`` can make.

    The z^B rule (Montavon et al., 2017). The bias takes nothing.
    """

    low: Tensor
    high: Tensor

    def __call__(self, layer: Layer, values: Tensor, relevance: Tensor) -> Tensor:
        plus, minus = layer.weight.clamp(min=0), layer.weight.clamp(max=0)
        above, below = values - self.low, values - self.high
        shares = quotient(relevance, layer.outputs_with(above, plus) + layer.outputs_with(below, minus))
        return above * layer.to_inputs(values, plus, shares) + below * layer.to_inputs(values, minus, shares)


class SignedContributions:
    """The contributions of one sign, and the bias where it has that sign."""

    def __init__(self, layer: Layer, values: Tensor, sign: int) -> None:
        up, down = values.clamp(min=0), values.clamp(max=0)
        plus, minus = layer.weight.clamp(min=0), layer.weight.clamp(max=0)
        pairs = ((up, plus), (down, minus)) if sign > 0 else ((up, minus), (down, plus))
        bias = None if layer.bias is None else (sign * layer.bias).clamp(min=0) * sign
        self.layer = layer
        self.pairs = [pair for pair in pairs if bool(pair[0].any())] or list(pairs[:1])
        first, *others = self.pairs
        self.sums = layer.outputs_with(*first, bias)
        for pair in others:
            self.sums = self.sums + layer.outputs_with(*pair)

    def to_inputs(self, shares: Tensor) -> Tensor:
        """For every input, the sum over outputs of contribution times share."""
        parts = [part * self.layer.to_inputs(part, weight, shares) for part, weight in self.pairs]
        return torch.stack(parts).sum(dim=0)


def away_from_zero(values: Tensor, epsilon: float) -> Tensor:
    """Values, moved away from 0 by epsilon."""
    return torch.where(values < 0, values - epsilon, values + epsilon)


def quotient(above: Tensor, below: Tensor) -> Tensor:
    """The quotient; 0 where the denominator is 0."""
    return torch.where(below == 0, 0, above / below)


def activation_passing_relevance(call: Call, values: Tensor) -> Tensor:
    """An activation that passes on all relevance that it receives; the gradient is relevance over value."""
    return call_with_rule(call, values, _share)


def _share(call: Call, z: Tensor, grad: Tensor) -> Tensor:
    # Towards 0 the share f(z) / z becomes the derivative, as these functions are 0 at 0.
    return torch.where(z == 0, gradient(call, z, grad), grad * call(z) / z)
