"""Networks to be trained: shapes first, then parameters from an explicit generator, never from a global seed."""

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
    """``(x - mean) / scale`` with fixed numbers: the network after it reads standard units, users keep the data's."""

    mean: Tensor
    scale: Tensor

    def __init__(self, mean: Tensor, scale: Tensor) -> None:
        super().__init__()
        self.register_buffer("mean", mean)
        self.register_buffer("scale", scale)

    @classmethod
    def of(cls, x: Tensor) -> Standardise:
        """With the mean and standard deviation of rows (N, d); a constant column (ROAR makes them) is only centred."""
        wide = x.double()  # the mean of equal float32 numbers, taken in float32, need not be that number
        varies = (x != x[0]).any(dim=0)
        scale = wide.std(dim=0, correction=0).where(varies, 1.0)
        return cls(wide.mean(dim=0).to(x.dtype), scale.to(x.dtype))

    def forward(self, x: Tensor) -> Tensor:
        return (x - self.mean) / self.scale


class Flattened(nn.Sequential):
    """Modules in sequence; the input of the last is flattened. (Captum's LRP cannot pass nn.Flatten.)"""

    def forward(self, x: Tensor) -> Tensor:
        *body, head = self
        for module in body:
            x = module(x)
        return head(torch.flatten(x, 1))  # type: ignore[no-any-return]


def mlp(d: int, hidden: Sequence[int], classes: int, bias: bool = True) -> nn.Sequential:
    """Linear layers with a separate ReLU module after each but the last.

    On the meta device, shapes without values: ``initialise`` or ``restore`` sets them. (A linear layer made on a real
    device draws from torch's global random stream.)
    """
    layers: list[nn.Module] = []
    for before, after in pairwise((d, *hidden, classes)):
        layers += [nn.Linear(before, after, bias, device="meta"), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def standardised(standardise: Standardise, network: nn.Module) -> nn.Sequential:
    """A network that reads raw units."""
    return nn.Sequential(OrderedDict(standardise=standardise, network=network))


def initialise(network: nn.Module, generator: Generator) -> None:
    """Draw initial parameters from ``generator``, layer by layer.

    Linear layers: PyTorch's default, in the same order. Convolutions: normal with variance 2 / inputs (He et al.,
    2015), biases 0. Normalisations: 1 and 0.
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
    """Load a copy of a ``state_dict``; the network ends frozen and in evaluation mode."""
    network.load_state_dict({name: torch.clone(tensor) for name, tensor in weights.items()}, assign=True)
    network.eval().requires_grad_(False)


def adopt(network: nn.Module, arrays: Mapping[str, NDArray[Any]]) -> None:
    """``restore`` from published arrays; AssayError if names or shapes are not the network's.

    The number of batches that a normalisation has seen may be missing.
    """
    expected = {name: tuple(tensor.shape) for name, tensor in network.state_dict().items() if not _is_batch_count(name)}
    shapes = {name: tuple(array.shape) for name, array in arrays.items()}
    if misfits := sorted(name for name in expected.keys() | shapes.keys() if expected.get(name) != shapes.get(name)):
        details = "; ".join(
            f"{name}: {shapes.get(name, 'missing')}, not {expected.get(name, 'expected')}" for name in misfits[:3]
        )
        raise AssayError(f"these weights are not this network's, {len(misfits)} arrays do not fit. {details}.")
    counts = {name: torch.tensor(0) for name in network.state_dict() if _is_batch_count(name)}
    restore(network, {**{name: torch.from_numpy(array) for name, array in arrays.items()}, **counts})


def _is_batch_count(name: str) -> bool:
    return name.endswith(".num_batches_tracked")
