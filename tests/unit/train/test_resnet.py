from __future__ import annotations

import pytest
import torch
from torch import Generator, Tensor, nn
from torch.nn.functional import avg_pool2d, batch_norm, conv2d, linear, relu

from assay.core.errors import SpecError
from assay.train.networks import Flattened, initialise
from assay.train.resnet import resnet, resnet18, resnet_projected, resnet_wide_stem


def ready(network: Flattened) -> Flattened:
    """With numbers, and statistics of batches that are not 0 and 1."""
    random = Generator().manual_seed(0)
    initialise(network, random)
    for layer in network.modules():
        if isinstance(layer, nn.BatchNorm2d):
            layer.running_mean.normal_(generator=random)
            layer.running_var.uniform_(0.5, 2, generator=random)
            nn.init.normal_(layer.weight, generator=random)
            nn.init.normal_(layer.bias, generator=random)
    return network.double().eval().requires_grad_(False)


def images(side: int, count: int = 2) -> Tensor:
    return torch.randn(count, 3, side, side, generator=Generator().manual_seed(1)).double()


class Literal:
    """The forward pass from the parameters alone, as the publications describe it."""

    def __init__(self, network: Flattened) -> None:
        self.named = network.state_dict()

    def convolved(self, name: str, norm: str, x: Tensor, stride: int = 1) -> Tensor:
        weight = self.named[f"{name}.weight"]
        made = conv2d(x, weight, stride=stride, padding=weight.shape[-1] // 2)
        numbers = [self.named[f"{norm}.{part}"] for part in ("running_mean", "running_var", "weight", "bias")]
        return batch_norm(made, *numbers)

    def block(self, name: str, x: Tensor, stride: int) -> tuple[Tensor, Tensor]:
        """What goes through the convolutions, and what goes around them."""
        inner = relu(self.convolved(f"{name}.conv1", f"{name}.bn1", x, stride))
        inner = self.convolved(f"{name}.conv2", f"{name}.bn2", inner)
        if f"{name}.shortcut.0.weight" in self.named:
            return inner, self.convolved(f"{name}.shortcut.0", f"{name}.shortcut.1", x, stride)
        around = torch.zeros_like(inner)
        front = (inner.shape[1] - x.shape[1]) // 2
        around[:, front : front + x.shape[1]] = x[:, :, ::stride, ::stride]
        return inner, around

    def head(self, x: Tensor) -> Tensor:
        return linear(x.flatten(1), self.named["linear.weight"], self.named["linear.bias"])


@pytest.mark.parametrize("depth", [8, 14])
def test_a_cifar_network_computes_what_the_paper_says(depth: int) -> None:
    network, x = ready(resnet(depth, 5, width=4)), images(16)
    literal = Literal(network)
    y = relu(literal.convolved("conv1", "bn1", x))
    for stage in (1, 2, 3):
        for number in range((depth - 2) // 6):
            y = relu(sum(literal.block(f"layer{stage}.{number}", y, 2 if stage > 1 and number == 0 else 1)))
    torch.testing.assert_close(network(x), literal.head(y.mean(dim=(2, 3))), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("depth", [8, 14])
def test_a_network_with_a_wide_stem_has_a_relu_only_at_the_end_of_a_stage(depth: int) -> None:
    network, x = ready(resnet_wide_stem(depth, 5)), images(32)
    literal = Literal(network)
    y = relu(literal.convolved("conv1", "bn1", x))
    for stage in (1, 2, 3):
        for number in range((depth - 2) // 6):
            y = sum(literal.block(f"layer{stage}.{number}", y, 2 if stage > 1 and number == 0 else 1))
        y = relu(y)
    torch.testing.assert_close(network(x), literal.head(avg_pool2d(y, 4)), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("network", "parameters"),
    [
        (lambda: resnet(20, 10), 269_722),  # 0.27 million in He et al.'s Table 6
        (lambda: resnet(32, 10), 464_154),
        (lambda: resnet(44, 10), 658_586),
        (lambda: resnet18(), 11_689_512),  # as torchvision counts
    ],
)
def test_networks_are_as_large_as_published(network: object, parameters: int) -> None:
    assert sum(parameter.numel() for parameter in network().parameters()) == parameters  # type: ignore[operator]


def test_the_network_for_large_images_halves_them_five_times() -> None:
    network = ready(resnet18(classes=7, width=4))
    seen = {}
    for name in ("conv1", "pool1", "layer1", "layer2", "layer3", "layer4"):
        network.get_submodule(name).register_forward_hook(
            lambda _m, _i, output, name=name: seen.update({name: tuple(output.shape[1:])})
        )
    assert network(images(224)).shape == (2, 7)
    sides = {"conv1": 112, "pool1": 56, "layer1": 56, "layer2": 28, "layer3": 14, "layer4": 7}
    widths = {"conv1": 4, "pool1": 4, "layer1": 4, "layer2": 8, "layer3": 16, "layer4": 32}
    assert seen == {name: (widths[name], side, side) for name, side in sides.items()}


def test_every_activation_is_a_module_of_its_own_that_leaves_its_input_alone() -> None:
    network = ready(resnet(14, 3, width=4))
    calls: list[nn.Module] = []
    for module in network.modules():
        if isinstance(module, nn.ReLU):
            assert not module.inplace
            module.register_forward_hook(lambda module, *_: calls.append(module))
    network(images(8))
    assert len(calls) == len(set(calls)) == 1 + 2 * 6


@pytest.mark.parametrize("depth", [2, 9, 21])
def test_a_depth_that_no_network_has_is_refused(depth: int) -> None:
    with pytest.raises(SpecError, match=f"not {depth}"):
        resnet(depth, 10)


def test_the_network_of_the_retraining_experiment_has_the_published_size() -> None:
    assert sum(parameter.numel() for parameter in resnet_projected(8, 10).parameters()) == 1_227_594
