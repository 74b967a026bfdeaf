"""Accumulators count exactly, every pixel once, and have the paper's modules."""

from __future__ import annotations

from math import sqrt

import pytest
import torch
from torch import Tensor, nn

from assay.core.errors import SpecError
from assay.core.rng import generator
from assay.craft.accumulate import first_shares, multi_color, redundant_weights, shares, single_color
from assay.craft.tiling import Side
from streams import seeded

BOTH = pytest.mark.parametrize("uniform", [True, False])
NONE = torch.zeros(4, 0, 3, 3)


def binary(*shape: int) -> Tensor:
    return torch.randint(0, 2, shape, generator=generator("test", *shape)).float()


def one_hot(height: int, width: int) -> Tensor:
    return torch.eye(height * width).reshape(-1, 1, height, width)


def parameters(module: nn.Module) -> int:
    return sum(p.numel() for p in module.parameters())


def on_grid(values: Tensor) -> bool:
    return torch.equal((values * 256).round(), values * 256)


@BOTH
@pytest.mark.parametrize("side", [4, 5, 6, 7, 8, 10, 12, 16, (5, 13), (1, 7)])
def test_each_pixel_is_counted_exactly_once(side: Side, uniform: bool) -> None:
    size = (side, side) if isinstance(side, int) else side
    count = single_color(side, uniform, 0)(one_hot(*size))
    assert torch.equal(count, torch.ones(size[0] * size[1], 1, 1, 1))


@BOTH
@pytest.mark.parametrize("side", [8, 9, 12, 16, 24, 32, 33, 50, 64])
def test_binary_images_are_counted_exactly(side: int, uniform: bool) -> None:
    x = torch.cat([binary(6, 1, side, side), torch.ones(1, 1, side, side)])
    for seed in (0, 1):
        assert torch.equal(single_color(side, uniform, seed)(x), x.sum((2, 3), keepdim=True))


@BOTH
def test_a_224_image_is_counted_exactly_even_when_full(uniform: bool) -> None:
    x = torch.cat([binary(1, 1, 224, 224), torch.ones(1, 1, 224, 224)])
    assert torch.equal(single_color(224, uniform, 0)(x), x.sum((2, 3), keepdim=True))


@BOTH
@pytest.mark.parametrize("side", [8, 12, 24, 64])
def test_colors_are_counted_apart(side: int, uniform: bool) -> None:
    x = binary(3, 4, side, side)
    assert torch.equal(multi_color(side, NONE, uniform, 0)(x), x.sum((2, 3), keepdim=True))


def test_the_single_color_accumulators_have_the_papers_modules() -> None:
    split, plain = single_color(224, False, 0), single_color(224, True, 0)
    assert len(split.layers) == 20
    assert parameters(split) == 170
    assert len(plain.layers) == 10
    assert parameters(plain) == 50
    x = torch.zeros(1, 1, 224, 224)
    assert split.layers[:6](x).shape == (1, 3, 25, 25)
    assert split.layers[:12](x).shape == (1, 1, 9, 9)


def test_the_multi_color_accumulators_have_the_papers_modules() -> None:
    partial, plain = (multi_color(224, torch.zeros(4, 1, 3, 3), uniform, 0) for uniform in (False, True))
    assert len(partial.layers) == 18
    assert parameters(partial) == 2168
    assert len(plain.layers) == 10
    x = torch.zeros(1, 5, 224, 224)
    assert partial.layers[:2](x).shape == (1, 4, 75, 75)
    assert partial.layers[:6](x).shape == (1, 4, 25, 25)
    assert partial.layers[:8](x).shape == (1, 12, 9, 9)
    assert plain.layers[:6](x).shape == (1, 4, 9, 9)
    assert plain.layers[:8](x).shape == (1, 4, 3, 3)


@pytest.mark.parametrize("network", [single_color(24, False, 0), multi_color(24, torch.ones(2, 1, 3, 3), False, 0)])
def test_relus_are_separate_modules_and_weights_are_frozen(network: nn.Module) -> None:
    modules = list(network.modules())
    relus = [module for module in modules if isinstance(module, nn.ReLU)]
    assert len(relus) == sum(isinstance(module, nn.Conv2d) for module in modules)
    assert not any(module.inplace for module in relus)
    assert not any(p.requires_grad for p in network.parameters())
    assert not network.training


def test_shares_are_nonnegative_on_the_grid_and_sum_to_one() -> None:
    stream = generator("test")
    drawn = torch.stack([shares((3, 3), stream) for _ in range(500)])  # (500, 3, 3, 3)
    assert bool((drawn >= 0).all())
    assert on_grid(drawn)
    assert torch.equal(drawn.sum(1), torch.ones(500, 3, 3))


def test_all_but_the_last_share_are_rounded_down() -> None:
    drawn, stream = shares((3, 3), generator("test")), generator("test")
    exponential = -torch.log(1 - torch.rand(3, 3, 3, generator=stream, dtype=torch.float64))
    lost = exponential / exponential.sum(0) - drawn
    assert bool((lost[:2] >= 0).all())
    assert bool((lost[:2] < 1 / 256).all())
    assert bool((lost[2] <= 0).all())


def test_shares_follow_the_flat_dirichlet() -> None:
    stream = generator("test")
    drawn = torch.stack([shares((3, 3), stream) for _ in range(1000)]).transpose(0, 1).flatten(1)  # (3, 9000)
    error = sqrt(1 / 18 / drawn.shape[1])  # a share has variance 1/18
    expected = torch.tensor([1 / 3 - 0.5 / 256, 1 / 3 - 0.5 / 256, 1 / 3 + 1 / 256])  # rounding down
    assert bool(((drawn.mean(1) - expected).abs() < 4 * error).all())
    torch.testing.assert_close(drawn.var(1), torch.full((3,), 1 / 18), rtol=0.05, atol=0)


def test_kernels_differ_between_blocks_colors_and_seeds() -> None:
    weights = [m.weight for m in multi_color(64, NONE, False, 0).layers if isinstance(m, nn.Conv2d)]
    assert not torch.equal(weights[1][:3, 0], weights[1][3:6, 1])
    assert not torch.equal(weights[1], weights[3])
    assert not torch.equal(first_shares(64, False, 0), first_shares(64, False, 1))


def test_first_shares_are_those_of_the_accumulator() -> None:
    for uniform in (True, False):
        layer = single_color(24, uniform, 3).layers[0]
        assert isinstance(layer, nn.Conv2d)
        assert torch.equal(layer.weight[:, 0], first_shares(24, uniform, 3))


def test_redundant_weights_fill_their_range_on_the_grid() -> None:
    drawn = redundant_weights(4, 50, 1.0, 0)
    assert drawn.shape == (4, 50, 3, 3)
    assert on_grid(drawn)
    assert -1 <= drawn.min() < -0.98
    assert 0.98 < drawn.max() <= 1
    assert (redundant_weights(4, 50, 0.5, 0) - drawn / 2).abs().max() <= 1 / 256  # the same draw, scaled
    assert not torch.equal(drawn, redundant_weights(4, 50, 1.0, 1))


@seeded()
def test_the_torch_scale_is_the_default_range_of_a_convolution() -> None:
    bound = nn.Conv2d(6, 4, 3).weight.abs().max().item()
    drawn = redundant_weights(4, 2, "torch", 0)
    assert drawn.abs().max() <= 1 / sqrt(54) + 0.5 / 256
    assert abs(drawn.abs().max().item() - bound) < 0.02
    assert bound <= 1 / sqrt(54)


def test_an_unknown_scale_is_refused() -> None:
    with pytest.raises(SpecError, match="'torch'"):
        redundant_weights(4, 2, "jax", 0)  # type: ignore[arg-type]


def test_redundant_channels_enter_through_their_weights_in_the_first_convolution() -> None:
    weights = redundant_weights(2, 2, 1.0, 0)
    x = torch.zeros(9, 4, 9, 9)
    x[:, 2:, 3:6, 3:6] = torch.eye(9).reshape(9, 1, 3, 3)  # both redundant channels, one pixel of one cell
    expected = torch.relu(weights.sum(1).flatten(1)).T
    for uniform in (True, False):
        torch.testing.assert_close(multi_color(9, weights, uniform, 0)(x).flatten(1), expected, rtol=1e-6, atol=0)
    assert torch.equal(multi_color(9, weights, True, 0)(x).flatten(1), expected)
