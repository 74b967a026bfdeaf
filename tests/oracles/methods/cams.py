"""What the oracles of class activation maps share: a network split by hand, one sample at a time, and two networks."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from scenes import Flat, randomised
from streams import seeded

LAYERS = ["body.0", "body.1", "body.3", "body.4"]  # of scenes.cnn; the 2nd and the 4th come after a ReLU


def split(net, name):
    """The network up to and including a layer of its body, and the rest."""
    body, cut = list(net.body), int(name.rpartition(".")[2]) + 1
    before, after = nn.Sequential(*body[:cut]), nn.Sequential(*body[cut:])
    return before, lambda maps: net.head(after(maps).flatten(1))


def at(net, query, name):
    """For each sample the layer's activations and the explained number's gradient there, (C, h, w) both."""
    before, after = split(net, name)
    for x, target in zip(query.x, query.target, strict=True):
        maps = before(x[None]).detach().requires_grad_()
        query.module.readout(after(maps))[0, target].backward()
        yield maps[0].detach(), maps.grad[0]


def weighted(pairs):
    """Channels with their weights, added up one at a time: (N, h, w)."""
    return torch.stack([sum(weight * channel for weight, channel in zip(*pair, strict=True)) for pair in pairs])


def enlarged(maps, relu=False):
    """(N, h, w) as 8 x 8 pixels."""
    maps = maps.clamp(min=0) if relu else maps
    return F.interpolate(maps[:, None], (8, 8), mode="bilinear", align_corners=False)[:, 0]


@seeded()
def pooled(channels=4):
    """A convolution and a ReLU, then global average pooling and one linear layer: the architecture of CAM."""
    body = nn.Sequential(nn.Conv2d(2, channels, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1))
    return randomised(Flat(body, nn.Linear(channels, 3))).double()
