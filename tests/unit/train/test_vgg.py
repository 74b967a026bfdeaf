from __future__ import annotations

import pytest
import torch
from torch import Generator, Tensor, nn

from assay.core.errors import SpecError
from assay.train.networks import Flattened, initialise
from assay.train.vgg import vgg


def ready(network: Flattened) -> Flattened:
    initialise(network, Generator().manual_seed(0))
    return network.double().eval().requires_grad_(False)


def images(side: int) -> Tensor:
    return torch.randn(3, 3, side, side, generator=Generator().manual_seed(1)).double()


@pytest.mark.parametrize(
    ("network", "parameters"),
    [
        (lambda: vgg(11, 224, 1000, hidden=(4096, 4096)), 132_863_336),  # as torchvision counts
        (lambda: vgg(16, 224, 1000, hidden=(4096, 4096)), 138_357_544),
        (lambda: vgg(19, 224, 1000, hidden=(4096, 4096)), 143_667_240),
        (lambda: vgg(16, 224, 1000, norm=True, hidden=(4096, 4096)), 138_365_992),
    ],
)
def test_networks_are_as_large_as_published(network: object, parameters: int) -> None:
    assert sum(parameter.numel() for parameter in network().parameters()) == parameters  # type: ignore[operator]


@pytest.mark.parametrize("depth", [11, 13, 16, 19])
@pytest.mark.parametrize("norm", [False, True])
def test_a_network_has_as_many_layers_as_its_name_says_each_with_an_activation(depth: int, norm: bool) -> None:
    modules = list(vgg(depth, 32, 10, width=2, norm=norm).modules())
    layers = [module for module in modules if isinstance(module, nn.Conv2d | nn.Linear)]
    assert len(layers) == depth
    assert sum(isinstance(module, nn.ReLU) for module in modules) == depth - 1
    assert not any(module.inplace for module in modules if isinstance(module, nn.ReLU))
    normalised = sum(isinstance(module, nn.BatchNorm2d) for module in modules)
    assert normalised == (depth - 3 if norm else 0)


@pytest.mark.parametrize(("side", "left", "maxima"), [(8, 1, 3), (16, 1, 4), (32, 1, 5), (64, 2, 5), (12, 1, 3)])
def test_pictures_are_halved_as_long_as_there_is_something_to_halve(side: int, left: int, maxima: int) -> None:
    network = ready(vgg(11, side, 4, width=2))
    assert network.features(images(side)).shape == (3, 16, left, left)
    assert sum(isinstance(module, nn.MaxPool2d) for module in network.features) == maxima
    assert network(images(side)).shape == (3, 4)


def test_without_biases_and_normalisation_the_network_is_homogeneous() -> None:
    network, x = ready(vgg(11, 16, 4, width=4, bias=False)), images(16)
    torch.testing.assert_close(network(3 * x), 3 * network(x), rtol=1e-9, atol=1e-12)
    assert float(network(x).abs().max()) > 1e-3
    other = ready(vgg(11, 16, 4, width=4))
    assert not torch.allclose(other(3 * x), 3 * other(x), rtol=1e-3)


def test_a_depth_that_no_network_has_is_refused() -> None:
    with pytest.raises(SpecError, match="11, 13, 16, 19 layers, not 12"):
        vgg(12, 32, 10)
