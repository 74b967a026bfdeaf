"""The assembled networks: sizes, exactness, and agreement with their interpretation in value and gradient."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from assay.core.errors import SpecError
from assay.core.rng import generator
from assay.craft.colors import Color
from assay.craft.interpret import interpret_color_count, interpret_pixel_count, interpret_pixel_modulo
from assay.craft.networks import color_count, pixel_count, pixel_modulo
from assay.craft.tiling import Side

COLORS: list[Color] = [(255, 255, 255), (255, 127, 0), (0, 127, 255), (0, 255, 0)]
BACKGROUND: Color = (20, 20, 20)
BOTH = pytest.mark.parametrize("uniform", [True, False])


def binary(count: int, side: int, *key: str) -> Tensor:
    return (torch.rand(count, 1, side, side, generator=generator("binary", *key)) < 0.4).float()


def painted(count: int, side: int, palette: list[Color]) -> Tensor:
    picks = torch.randint(0, len(palette), (count, side, side), generator=generator("painted", count, side))
    return torch.tensor(palette, dtype=torch.float32)[picks].permute(0, 3, 1, 2).contiguous()


def jacobian(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """(outputs, B, ...): the gradient of every output."""
    leaf = x.clone().requires_grad_()
    columns = function(leaf).T
    return torch.stack([torch.autograd.grad(c.sum(), leaf, retain_graph=True)[0] for c in columns])


def agree(network: nn.Module, interpreted: Callable[[Tensor], Tensor], x: Tensor) -> None:
    assert torch.equal(network(x), interpreted(x))
    assert torch.equal(jacobian(network, x), jacobian(interpreted, x))


@pytest.mark.parametrize(("redundant", "parameters"), [(0, 4281), (1, 4323), (2, 4365), (5, 4491)])
def test_color_count_has_the_papers_parameters(redundant: int, parameters: int) -> None:
    network = color_count(224, COLORS, BACKGROUND, redundant, False, 0, 0)
    assert sum(p.numel() for p in network.parameters()) == parameters


@BOTH
@pytest.mark.parametrize("side", [8, 16, 24])
def test_pixel_networks_are_exact_and_agree_with_their_interpretation(side: int, uniform: bool) -> None:
    x = binary(5, side)
    ones = x.sum((2, 3))
    count, remainder = pixel_count(side, uniform, 0), pixel_modulo(side, 7, side * side, uniform, 0)
    assert torch.equal(count(x), ones)
    assert torch.equal(remainder(x), ones % 7)
    agree(count, interpret_pixel_count(side, uniform, 0), x)
    agree(remainder, interpret_pixel_modulo(side, 7, side * side, uniform, 0), x)


@BOTH
def test_pixel_count_agrees_on_images_with_empty_cells_and_negative_values(uniform: bool) -> None:
    x = torch.randint(-2, 3, (4, 1, 12, 12), generator=generator("signed")).float()
    x[:, :, :6, :6] = 0
    network, interpreted = pixel_count(12, uniform, 0), interpret_pixel_count(12, uniform, 0)
    torch.testing.assert_close(network(x), interpreted(x), rtol=1e-6, atol=0)
    assert torch.equal(jacobian(network, x), jacobian(interpreted, x))


@BOTH
def test_every_white_pixel_has_gradient_one_and_an_empty_cell_has_none(uniform: bool) -> None:
    x = torch.zeros(1, 1, 9, 9)
    x[0, 0, 4, 4] = 1
    gradient = jacobian(pixel_count(9, uniform, 0), x)[0, 0, 0]
    assert gradient[4, 4] == 1
    assert gradient.sum() == gradient[3:6, 3:6].sum()


@BOTH
def test_the_papers_modulo_network_is_exact_at_224(uniform: bool) -> None:
    x = torch.zeros(3, 1, 224, 224)
    for image, ones in zip(x, (2469, 4890, 4920), strict=True):
        image.flatten()[torch.randperm(224 * 224, generator=generator("at", ones))[:ones]] = 1
    assert pixel_modulo(224, 30, 4900, uniform, 0)(x).flatten().tolist() == [2469 % 30, 0, 0]


@BOTH
@pytest.mark.parametrize("redundant", [0, 2])
def test_color_count_counts_designed_images_exactly(redundant: int, uniform: bool) -> None:
    x = painted(4, 16, [*COLORS, BACKGROUND])
    counts = torch.stack([(x == torch.tensor(c)[:, None, None]).all(1).sum((1, 2)) for c in COLORS], dim=1)
    network = color_count(16, COLORS, BACKGROUND, redundant, uniform, 0, 0)
    assert torch.equal(network(x), counts.float())
    agree(network, interpret_color_count(16, COLORS, BACKGROUND, redundant, 0), x)


@pytest.mark.parametrize("scale", [1.0, 0.25, "torch"])
@pytest.mark.parametrize("redundant", [0, 1, 2])
def test_color_count_agrees_on_unseen_colors_too(redundant: int, scale: float) -> None:
    near = [(254, 255, 255), (255, 128, 1), (20, 20, 19), (0, 0, 0)]
    x = painted(4, 12, [*COLORS, BACKGROUND, *near])
    interpreted = interpret_color_count(12, COLORS, BACKGROUND, redundant, 3, scale)
    agree(color_count(12, COLORS, BACKGROUND, redundant, True, 3, 0, scale), interpreted, x)
    network = color_count(12, COLORS, BACKGROUND, redundant, False, 3, 0, scale)
    torch.testing.assert_close(network(x), interpreted(x), rtol=1e-6, atol=0)
    assert torch.equal(jacobian(network, x), jacobian(interpreted, x))


def test_color_count_agrees_between_whole_numbers() -> None:
    x = painted(4, 12, [*COLORS, BACKGROUND])
    x = x + torch.randint(-4, 5, x.shape, generator=generator("eighths")) / 8  # tents and sums stay exact
    network = color_count(12, COLORS, BACKGROUND, 2, True, 0, 0)
    agree(network, interpret_color_count(12, COLORS, BACKGROUND, 2, 0), x)


def test_a_blank_canvas_is_classified_by_the_redundant_weights_alone() -> None:
    blank = torch.zeros(1, 3, 9, 9)
    assert color_count(9, COLORS, BACKGROUND, 0, False, 0, 0)(blank).abs().sum() == 0
    first, second = (color_count(9, COLORS, BACKGROUND, 2, True, seed, 0)(blank) for seed in (0, 1))
    assert not torch.equal(first, second)
    assert bool((first >= 0).all())


def test_uniform_and_non_uniform_give_the_same_counts_on_any_image() -> None:
    x = torch.randint(0, 256, (4, 3, 24, 24), generator=generator("any")).float()
    plain, partial = (color_count(24, COLORS, BACKGROUND, 2, uniform, 0, 5) for uniform in (True, False))
    torch.testing.assert_close(plain(x), partial(x), rtol=1e-6, atol=0)


@pytest.mark.parametrize("side", [(8, 20), (4, 5)])
def test_rectangular_images_work(side: Side) -> None:
    height, width = (side, side) if isinstance(side, int) else side
    x = painted(2, 20, [*COLORS, BACKGROUND])[:, :, :height, :width]
    network = color_count(side, COLORS, BACKGROUND, 1, False, 0, 0)
    agree(network, interpret_color_count(side, COLORS, BACKGROUND, 1, 0), x)


def test_no_network_has_a_flatten_module_which_captum_s_relevance_cannot_pass() -> None:
    networks = [pixel_modulo(8, 3, 64, False, 0), color_count(8, COLORS, BACKGROUND, 1, False, 0, 0)]
    assert not any(isinstance(module, nn.Flatten) for network in networks for module in network.modules())


def test_every_relu_runs_once_per_forward() -> None:
    network = color_count(8, COLORS, BACKGROUND, 1, False, 0, 0)
    calls: list[nn.Module] = []
    for module in network.modules():
        if isinstance(module, nn.ReLU):
            module.register_forward_hook(lambda m, i, o: calls.append(m))
    network(torch.zeros(1, 3, 8, 8))
    assert len(calls) == len({id(m) for m in calls}) == sum(isinstance(m, nn.ReLU) for m in network.modules())


def test_a_modulus_or_range_below_one_is_refused() -> None:
    with pytest.raises(SpecError, match="at least 1"):
        pixel_modulo(8, 0, 64, False, 0)
