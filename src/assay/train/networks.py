"""Networks to be trained: shapes first, then numbers from an explicit generator, never from a global seed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import sqrt

import torch
from torch import Generator, Tensor, nn


class Standardise(nn.Module):
    """``(x - mean) / scale`` with fixed numbers: the network behind it sees standard units, its users the data's."""

    mean: Tensor
    scale: Tensor

    def __init__(self, mean: Tensor, scale: Tensor) -> None:
        super().__init__()
        self.register_buffer("mean", mean)
        self.register_buffer("scale", scale)

    @classmethod
    def of(cls, x: Tensor) -> Standardise:
        """Mean and standard deviation of rows (N, d); a constant column (ROAR makes them) is only centred."""
        wide = x.double()  # the mean of equal float32 numbers, taken in float32, need not be that number
        varies = (x != x[0]).any(dim=0)
        scale = wide.std(dim=0, correction=0).where(varies, 1.0)
        return cls(wide.mean(dim=0).to(x.dtype), scale.to(x.dtype))

    def forward(self, x: Tensor) -> Tensor:
        return (x - self.mean) / self.scale


def mlp(d: int, hidden: Sequence[int], classes: int) -> nn.Sequential:
    """Linear layers with a ReLU module of its own after each but the last.

    On the meta device, shapes without numbers: ``initialise`` or ``restore`` gives them. (A linear layer made on a real
    device draws from torch's global random numbers.)
    """
    layers: list[nn.Module] = []
    for before, after in pairwise((d, *hidden, classes)):
        layers += [nn.Linear(before, after, device="meta"), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def standardised(standardise: Standardise, network: nn.Module) -> nn.Sequential:
    """A network that takes raw units."""
    return nn.Sequential(OrderedDict(standardise=standardise, network=network))


def initialise(network: nn.Module, generator: Generator) -> None:
    """Give linear layers the numbers that PyTorch gives them by default, in the same order, from ``generator``."""
    for layer in network.modules():
        if isinstance(layer, nn.Linear):
            layer.to_empty(device="cpu")
            bound = 1 / sqrt(layer.in_features)
            nn.init.kaiming_uniform_(layer.weight, a=sqrt(5), generator=generator)
            nn.init.uniform_(layer.bias, -bound, bound, generator=generator)


def restore(network: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Give a network the numbers of a ``state_dict``, copied, and leave it frozen and in evaluation mode."""
    network.load_state_dict({name: torch.clone(tensor) for name, tensor in weights.items()}, assign=True)
    network.eval().requires_grad_(False)
