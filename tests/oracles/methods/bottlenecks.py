"""What the oracles of information bottlenecks share: one image at a time, PyTorch's own optimisers and divergences."""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.distributions import Normal, kl_divergence
from torch.nn import functional as F

from scenes import Flat, randomised
from streams import seeded


def smoothed(mask, sigma):
    """(C, h, w) convolved with a normalised Gaussian of two dimensions, mirrored at the border."""
    if not sigma:
        return mask
    reach = round(2 * sigma)
    kernel = torch.tensor(
        [
            [math.exp(-(i * i + j * j) / (2 * sigma**2)) for j in range(-reach, reach + 1)]
            for i in range(-reach, reach + 1)
        ],
        dtype=mask.dtype,
    )
    padded = F.pad(mask[:, None], [reach] * 4, mode="reflect")
    return F.conv2d(padded, (kernel / kernel.sum())[None, None])[:, 0]


def statistics(maps):
    """Mean, deviation (at least 0.01) and activity (more than 1 %) of every neuron of maps (rows, C, h, w)."""
    mean, deviation, active = (torch.zeros_like(maps[0]) for _ in range(3))
    for place in torch.cartesian_prod(*(torch.arange(size) for size in maps.shape[1:])).tolist():
        values = [float(each[tuple(place)]) for each in maps]
        centre = sum(values) / len(values)
        mean[tuple(place)] = centre
        variance = sum((value - centre) ** 2 for value in values) / (len(values) - 1)
        deviation[tuple(place)] = max(0.01, math.sqrt(variance))
        active[tuple(place)] = float(sum(value != 0 for value in values) / len(values) > 0.01)
    return mean, deviation, active


def feature_capacity(signal, reference, loss, noises, beta, lr=1.0, start=5.0, sigma=1.0):
    """The capacity (C, h, w) of a bottleneck in the forward pass of the last step; ``loss`` is of maps (K, C, h, w)."""
    mean, deviation, active = reference
    alpha = torch.full_like(signal, start, requires_grad=True)
    adam = torch.optim.Adam([alpha], lr=lr)
    for noise in noises:
        mask = smoothed(alpha.sigmoid(), sigma)
        seen = Normal(mask * signal + (1 - mask) * mean, (1 - mask) * deviation)
        capacity = kl_divergence(seen, Normal(mean, deviation)) * active
        z = (mask * signal + (1 - mask) * (mean + deviation * noise)) * active
        (loss(z) + beta * capacity.mean()).backward()
        adam.step()
        adam.zero_grad()
    return capacity.detach()


@seeded()
def half_blind(side=8, scale=3.0, outputs=2):
    """Looks at the left half of an image only: the difference of two channels there, for two classes or one number."""
    net = randomised(Flat(nn.Sequential(nn.Conv2d(1, 2, 1), nn.ReLU()), nn.Linear(2 * side * side, outputs)))
    with torch.no_grad():
        net.body[0].weight.copy_(torch.tensor([1.0, -1.0]).view(2, 1, 1, 1))
        net.body[0].bias.zero_()
        weight = torch.zeros(outputs, 2, side, side)
        weight[0, 0, :, : side // 2], weight[0, 1, :, : side // 2] = scale, -scale
        weight[1:] = -weight[:1]
        net.head.weight.copy_(weight.flatten(1))
        net.head.bias.zero_()
    return net
