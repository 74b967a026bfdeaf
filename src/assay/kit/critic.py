"""A Wasserstein critic of feature maps with clipped weights (Arjovsky et al., 2017), as in Zhang et al., 2021."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor
from torch.nn.functional import batch_norm, conv2d, leaky_relu, linear, pad

from assay.core.rng import Draws

SLOPE = 0.2  # of the leaky ReLUs
SMALLEST = 4  # positions per side that two convolutions of stride 2 need


class Critic:
    """Distinguishes maps (B, C, h, w) from imitations of them.

    Convolutions C -> 2C -> 4C -> C (kernels 4, 4, 3, strides 2, 2, 1), each with batch normalisation by the
    statistics of the batch, then linear layers down to one number. Maps with fewer than four positions per side are
    padded with zeros. ``draws`` is one sample's stream; weights are initialised as in PyTorch.
    """

    def __init__(self, draws: Draws, maps: Tensor, hidden: tuple[int, ...], lr: float, clip: float) -> None:
        channels, *sides = maps.shape[1:]
        kernels = [(2 * channels, channels, 4), (4 * channels, 2 * channels, 4), (channels, 4 * channels, 3)]
        self.convolutions = [
            (
                *_initial_weights(draws, maps, outputs, inputs, side, side),
                maps.new_ones(outputs),
                maps.new_zeros(outputs),
            )
            for outputs, inputs, side in kernels
        ]
        height, width = (max(side, SMALLEST) // 4 for side in sides)
        widths = (channels * height * width, *hidden, 1)
        self.linears = [_initial_weights(draws, maps, outputs, inputs) for inputs, outputs in pairwise(widths)]
        self.clip = clip
        self.optimiser = torch.optim.RMSprop(self._weights(), lr=lr)

    def __call__(self, maps: Tensor) -> Tensor:
        """One number per map, larger for maps that look real."""
        height, width = maps.shape[2:]
        maps = pad(maps, (0, max(0, SMALLEST - width), 0, max(0, SMALLEST - height)))
        for (weight, bias, scale, offset), stride in zip(self.convolutions, (2, 2, 1), strict=True):
            maps = conv2d(maps, weight, bias, stride=stride, padding=1)
            maps = leaky_relu(batch_norm(maps, None, None, scale, offset, training=True), SLOPE)
        rows = maps.flatten(1)
        for weight, bias in self.linears[:-1]:
            rows = leaky_relu(linear(rows, weight, bias), SLOPE)
        return linear(rows, *self.linears[-1]).squeeze(1)

    def learn(self, real: Tensor, fake: Tensor) -> None:
        """One training step; weights are then clipped."""
        weights = [weight.requires_grad_() for weight in self._weights()]
        with torch.enable_grad():
            slopes = torch.autograd.grad(self(fake).mean() - self(real).mean(), weights)
        for weight, slope in zip(weights, slopes, strict=True):
            weight.requires_grad_(False).grad = slope
        self.optimiser.step()
        for weight in weights:
            weight.clamp_(-self.clip, self.clip)

    def gradient_at(self, fake: Tensor) -> Tensor:
        """The gradient of minus the mean output, with respect to the imitations."""
        fake = fake.detach().requires_grad_()
        with torch.enable_grad():
            (slope,) = torch.autograd.grad(-self(fake).mean(), fake)
        return slope

    def _weights(self) -> list[Tensor]:
        return [weight for layer in (*self.convolutions, *self.linears) for weight in layer]


def _initial_weights(draws: Draws, like: Tensor, *shape: int) -> tuple[Tensor, Tensor]:
    """A weight and a bias, uniform between -1 / sqrt(inputs) and 1 / sqrt(inputs)."""
    bound = (torch.Size(shape).numel() / shape[0]) ** -0.5
    weight, bias = (bound * (2 * draws.uniform(*size)[0].to(like) - 1) for size in (shape, shape[:1]))
    return weight, bias
