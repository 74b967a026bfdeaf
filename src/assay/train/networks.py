"""Networks to be trained: shapes first, then numbers from an explicit generator, never from a global seed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import sqrt
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Generator, Tensor, nn

from assay.core.errors import AssayError


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


class Flattened(nn.Sequential):
    """Modules one after the other, of which the last gets its input flat.

    (Captum's LRP cannot pass nn.Flatten.)
    """

    def forward(self, x: Tensor) -> Tensor:
        *body, head = self
        for module in body:
            x = module(x)
        return head(torch.flatten(x, 1))  # type: ignore[no-any-return]


def mlp(d: int, hidden: Sequence[int], classes: int, bias: bool = True) -> nn.Sequential:
    """Linear layers with a ReLU module of its own after each but the last.

    On the meta device, shapes without numbers: ``initialise`` or ``restore`` gives them. (A linear layer made on a real
    device draws from torch's global random numbers.)
    """
    layers: list[nn.Module] = []
    for before, after in pairwise((d, *hidden, classes)):
        layers += [nn.Linear(before, after, bias, device="meta"), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def standardised(standardise: Standardise, network: nn.Module) -> nn.Sequential:
    """A network that takes raw units."""
    return nn.Sequential(OrderedDict(standardise=standardise, network=network))


def initialise(network: nn.Module, generator: Generator) -> None:
    """Numbers from ``generator``, layer by layer.

    Linear layers get those that PyTorch gives them by default, in the same order; convolutions normal ones of variance
    2 / inputs (He et al., 2015) and no bias; normalisations 1 and 0.
    """
    for layer in network.modules():
        match layer:
            case nn.Linear():
                layer.to_empty(device="cpu")
                bound = 1 / sqrt(layer.in_features)
                nn.init.kaiming_uniform_(layer.weight, a=sqrt(5), generator=generator)
                if layer.bias is not None:
                    nn.init.uniform_(layer.bias, -bound, bound, generator=generator)
            case nn.Conv2d():
                layer.to_empty(device="cpu")
                nn.init.kaiming_normal_(layer.weight, generator=generator)
                if layer.bias is not None:
                    nn.init.zeros_(layer.bias)
            case nn.BatchNorm2d():
                layer.to_empty(device="cpu")
                layer.reset_parameters()


def restore(network: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Give a network the numbers of a ``state_dict``, copied, and leave it frozen and in evaluation mode."""
    network.load_state_dict({name: torch.clone(tensor) for name, tensor in weights.items()}, assign=True)
    network.eval().requires_grad_(False)


def adopt(network: nn.Module, arrays: Mapping[str, NDArray[Any]]) -> None:
    """``restore`` from the arrays that somebody published; AssayError where names or shapes are not the network's.

    They need not tell how many batches a normalisation has seen.
    """
    known = {name: tuple(tensor.shape) for name, tensor in network.state_dict().items() if not _counts(name)}
    found = {name: tuple(array.shape) for name, array in arrays.items()}
    if wrong := sorted(name for name in known.keys() | found.keys() if known.get(name) != found.get(name)):
        told = "; ".join(
            f"{name}: {found.get(name, 'missing')}, not {known.get(name, 'expected')}" for name in wrong[:3]
        )
        raise AssayError(f"these weights are not this network's, {len(wrong)} arrays do not fit. {told}.")
    counts = {name: torch.tensor(0) for name in network.state_dict() if _counts(name)}
    restore(network, {**{name: torch.from_numpy(array) for name, array in arrays.items()}, **counts})


def _counts(name: str) -> bool:
    return name.endswith(".num_batches_tracked")
