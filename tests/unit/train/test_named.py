from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Generator, nn

from assay.core.errors import AssayError, SpecError
from assay.train.named import begin, last_stage, network_by_name
from assay.train.networks import adopt

NAMES = ["resnet8", "resnet8_wide_stem", "vgg11", "vgg11_bn", "vit2"]


def made(name: str, seed: int = 0) -> nn.Module:
    network = network_by_name(name, 16, 3, 8)
    begin(network, Generator().manual_seed(seed))
    return network.eval()


@pytest.mark.parametrize("name", NAMES)
def test_a_network_gets_all_its_numbers_from_the_generator(name: str) -> None:
    before = torch.random.get_rng_state()
    x = torch.randn(4, 3, 16, 16, generator=Generator().manual_seed(9))
    one, same, other = made(name), made(name), made(name, seed=1)
    assert not any(tensor.is_meta for tensor in one.state_dict().values())
    assert torch.equal(one(x), same(x))
    assert not torch.equal(one(x), other(x))
    assert one(x).shape == (4, 3)
    assert torch.equal(before, torch.random.get_rng_state())


@pytest.mark.parametrize(
    ("name", "layer"),
    [("resnet20", "layer3"), ("resnet8_wide_stem", "layer3"), ("vgg11", "features.19"), ("vit", "")],
)
def test_maps_are_hung_on_the_last_stage(name: str, layer: str) -> None:
    network = network_by_name(name, 32, 10)
    assert last_stage(network) == layer
    if layer.startswith("features"):
        assert isinstance(network.get_submodule(layer), nn.ReLU)
        assert not any(isinstance(module, nn.ReLU) for module in list(network.features)[20:])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "name", ["resnet", "resnet20_bn", "vgg", "vgg12", "vgg11_wide_stem", "alexnet", "ResNet20", ""]
)
def test_a_name_that_says_nothing_is_refused(name: str) -> None:
    with pytest.raises(SpecError):
        network_by_name(name, 32, 10)


def test_convolutions_begin_with_variance_2_over_inputs_and_no_bias() -> None:
    network = network_by_name("vgg11", 32, 10)
    begin(network, Generator().manual_seed(0))
    layer = network.get_submodule("features.3")
    assert float(layer.weight.detach().var()) == pytest.approx(2 / (64 * 9), rel=0.02)
    assert not layer.bias.any()


def test_published_arrays_become_a_frozen_network_with_numbers_of_its_own() -> None:
    original, x = made("resnet8"), torch.randn(2, 3, 16, 16, generator=Generator().manual_seed(3))
    arrays = {name: tensor.numpy() for name, tensor in original.state_dict().items() if "tracked" not in name}
    copy = network_by_name("resnet8", 16, 3, 8)
    adopt(copy, arrays)
    expected = original(x)
    assert torch.equal(copy(x), expected)
    assert not copy.training
    assert not any(parameter.requires_grad for parameter in copy.parameters())
    arrays["linear.weight"] += 1
    assert torch.equal(copy(x), expected)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"linear.bias": np.zeros(4, dtype=np.float32)}, r"linear.bias: \(4,\), not \(3,\)"),
        ({"linear.bias": None}, r"linear.bias: missing, not \(3,\)"),
        ({"more": np.zeros(1, dtype=np.float32)}, r"more: \(1,\), not expected"),
    ],
    ids=["shape", "missing", "unknown"],
)
def test_arrays_of_another_network_are_refused(change: dict[str, np.ndarray | None], message: str) -> None:
    arrays = {name: tensor.numpy() for name, tensor in made("resnet8").state_dict().items() if "tracked" not in name}
    wrong = {name: array for name, array in {**arrays, **change}.items() if array is not None}
    with pytest.raises(AssayError, match=message):
        adopt(network_by_name("resnet8", 16, 3, 8), wrong)
