"""The colour detector fires on its colours, on nothing else, and has the paper's layers and kinks."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from assay.core.errors import SpecError
from assay.craft.colors import Color, detector, pixel
from assay.craft.compile import compile_pixelwise
from assay.craft.wires import evaluate

COLORS: list[Color] = [(255, 255, 255), (255, 127, 0), (0, 127, 255), (0, 255, 0)]
BACKGROUND: Color = (20, 20, 20)
KNOWN = torch.tensor([*COLORS, BACKGROUND], dtype=torch.float32)


def compiled(redundant: int) -> nn.Sequential:
    return compile_pixelwise(pixel(), detector(COLORS, BACKGROUND, redundant))


def parts(network: nn.Sequential) -> list[Any]:
    """The convolutions."""
    return list(network)[::2]


def image(pixels: Tensor) -> Tensor:
    """(n, 3) -> (1, 3, n, 1)."""
    return pixels.T[None, :, :, None].contiguous()


def expected(pixels: Tensor, redundant: int) -> Tensor:
    """Equality, written out: (n, N_C + R)."""
    same = (pixels[:, None] == KNOWN).all(2).float()
    return torch.cat([same[:, :-1], (1 - same.sum(1, keepdim=True)).expand(-1, redundant)], dim=1)


def near_known_colors() -> Tensor:
    offsets = torch.tensor(list(product(range(-2, 3), repeat=3)), dtype=torch.float32)
    return (KNOWN[:, None] + offsets).flatten(0, 1)


@pytest.mark.parametrize("redundant", [0, 1, 2, 3])
def test_the_detector_is_exact_near_every_color_and_on_unseen_ones(redundant: int) -> None:
    values = torch.tensor([0, 19, 20, 21, 126, 127, 128, 254, 255.0])
    pixels = torch.cat([near_known_colors(), torch.cartesian_prod(values, values, values)])
    outputs = detector(COLORS, BACKGROUND, redundant)
    assert torch.equal(evaluate(outputs, pixels), expected(pixels, redundant))
    assert torch.equal(compiled(redundant)(image(pixels))[0, :, :, 0].T, expected(pixels, redundant))


@pytest.mark.parametrize("redundant", [0, 1, 2])
def test_the_detector_has_the_papers_layers(redundant: int) -> None:
    network = compiled(redundant)
    convolutions = parts(network)
    assert [c.in_channels for c in convolutions] == [3, 45, 30, 15, 5]
    assert convolutions[-1].out_channels == 4 + redundant
    assert len(network) == 10
    assert all(type(module) is nn.ReLU for module in list(network)[1::2])
    assert sum(p.numel() for p in network.parameters()) == 2105 + 6 * (4 + redundant)


def test_channels_come_color_by_color_and_the_background_is_computed_but_dropped() -> None:
    first, second, third, total, final = parts(compiled(2))
    values = KNOWN.flatten()
    assert torch.equal(first.bias, -torch.stack([values - 1, values, values + 1], dim=1).flatten())
    assert torch.equal(first.weight.squeeze().argmax(1), torch.arange(3).repeat_interleave(3).repeat(5))
    assert torch.equal(second.weight.squeeze()[:2, :3], torch.tensor([[1.0, -1, 0], [0, 1, -1]]))
    assert torch.equal(third.weight.squeeze()[0, :2], torch.tensor([1.0, -1]))
    assert total.bias.tolist() == [-2] * 5
    assert torch.equal(final.weight.squeeze()[:4], torch.eye(4, 5))
    assert torch.equal(final.weight.squeeze()[4:], -torch.ones(2, 5))
    assert final.bias.tolist() == [0, 0, 0, 0, 1, 1]


def gradients(pixels: Tensor, redundant: int) -> tuple[Tensor, Tensor]:
    """Jacobians (outputs, n, 3), interpreted and compiled."""
    x = pixels.clone().requires_grad_()
    interpreted = evaluate(detector(COLORS, BACKGROUND, redundant), x)
    network = compiled(redundant)(image(x))[0, :, :, 0].T
    jacobians = [
        torch.stack([torch.autograd.grad(column.sum(), x, retain_graph=True)[0] for column in out.T])
        for out in (interpreted, network)
    ]
    return jacobians[0], jacobians[1]


def test_compiled_and_interpreted_gradients_agree_everywhere_near_the_kinks() -> None:
    interpreted, network = gradients(near_known_colors(), 2)
    assert torch.equal(interpreted, network)
    halves = near_known_colors() / 2 + KNOWN.repeat_interleave(125, 0) / 2
    interpreted, network = gradients(halves, 2)
    assert torch.equal(interpreted, network)


def test_at_a_color_its_detector_rises_by_one_per_channel_and_redundant_units_are_closed() -> None:
    for jacobian in gradients(KNOWN, 2):
        own = torch.cat([torch.eye(4, 5), torch.zeros(2, 5)])
        assert torch.equal(jacobian, own[:, :, None].expand(-1, -1, 3))


def test_just_left_of_the_background_redundant_units_fall() -> None:
    for jacobian in gradients(KNOWN[-1:] - torch.tensor([0.5, 0, 0]), 1):
        assert jacobian[4, 0].tolist() == [-1, -1, -1]


@settings(max_examples=50)
@given(st.integers(0, 4), st.tuples(*[st.floats(-1, 1, width=32)] * 3))
def test_between_whole_numbers_a_detector_is_a_tent(index: int, offset: tuple[float, ...]) -> None:
    shift = torch.tensor(offset)
    found = evaluate(detector(COLORS, BACKGROUND, 1), KNOWN[index : index + 1] + shift)[0]
    tent = torch.relu(1 - shift.abs().sum())
    torch.testing.assert_close(found[4], 1 - tent, rtol=0, atol=1e-4)
    if index < 4:
        torch.testing.assert_close(found[index], tent, rtol=0, atol=1e-4)


def test_redundant_channels_are_not_merged() -> None:
    outputs = detector(COLORS, BACKGROUND, 3)
    assert len({wire.unit for wire in outputs}) == 7


@pytest.mark.parametrize("close", [(20, 20, 20), (20, 20, 21)])
def test_colors_closer_than_two_are_refused(close: Color) -> None:
    with pytest.raises(SpecError, match="apart in L1"):
        detector([close], BACKGROUND, 1)


def test_colors_two_apart_are_allowed_and_stay_separate() -> None:
    outputs = detector([(20, 21, 21), (20, 20, 22)], BACKGROUND, 1)
    pixels = torch.tensor([[20, 21, 21.0], [20, 20, 22], [20, 20, 20], [20, 20, 21], [20, 20.5, 20.5]])
    assert evaluate(outputs, pixels).tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 0], [0, 0, 1], [0, 0, 1]]


def test_a_negative_number_of_redundant_channels_is_refused() -> None:
    with pytest.raises(SpecError, match="cannot be negative"):
        detector(COLORS, BACKGROUND, -1)
