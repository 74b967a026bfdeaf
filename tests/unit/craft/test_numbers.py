"""Number checks and the modulo are exact on whole numbers, interpreted and compiled."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from assay.craft.compile import compile_mlp
from assay.craft.numbers import above, equals, modulo
from assay.craft.wires import Wire, evaluate, source

X = source(0)


@cache
def paper() -> tuple[Wire, nn.Sequential]:
    wire = modulo(X, 30, 4900)
    return wire, compile_mlp([X], [wire])


def parts(network: nn.Sequential) -> list[Any]:
    """The linear layers."""
    return list(network)[::2]


def whole(first: int, last: int) -> Tensor:
    return torch.arange(first, last + 1, dtype=torch.float32)[:, None]


def slopes(output: Tensor, x: Tensor) -> Tensor:
    (slope,) = torch.autograd.grad(output.sum(), x)
    return slope.flatten()


@pytest.mark.parametrize("n", [-3, 0, 1, 5, 255])
def test_number_checks_are_exact_on_whole_numbers(n: int) -> None:
    x = whole(-10, 300)
    assert torch.equal(evaluate(above(X, n), x), (x[:, 0] > n).float())
    assert torch.equal(evaluate(equals(X, n), x), (x[:, 0] == n).float())


def test_equals_is_a_tent_between_whole_numbers_and_takes_the_left_derivative_at_its_top() -> None:
    x = torch.linspace(2, 8, 49)[:, None].requires_grad_()  # eighths: exact
    value = evaluate(equals(X, 5), x)
    assert torch.equal(value, torch.relu(1 - (x[:, 0] - 5).abs()))
    expected = ((x > 4) & (x <= 5)).float() - ((x > 5) & (x < 6)).float()
    assert torch.equal(slopes(value, x), expected.flatten())


def test_the_papers_modulo_is_exact_for_every_count_up_to_4920() -> None:
    wire, network = paper()
    x = whole(0, 4920)
    assert torch.equal(evaluate(wire, x), x[:, 0] % 30)
    assert torch.equal(network(x), x % 30)


def test_the_papers_modulo_is_first_wrong_at_4921() -> None:
    wire, network = paper()
    beyond = torch.tensor([[4921.0]])
    assert evaluate(wire, beyond).item() == network(beyond).item() == 0 != 4921 % 30


def test_the_papers_modulo_has_its_published_layers() -> None:
    _, network = paper()
    linears = parts(network)
    assert [layer.out_features for layer in linears] == [165, 164, 656, 492, 328, 164, 1]
    assert all(isinstance(layer, nn.ReLU) for layer in list(network)[1::2])
    assert len(network) == 14
    assert sum(p.numel() for p in network.parameters()) == 674_863 == 25 * 164**2 + 15 * 164 + 3


def test_channels_of_the_modulo_come_piece_by_piece() -> None:
    network = compile_mlp([X], [modulo(X, 7, 20)])
    biases = [layer.bias.tolist() for layer in parts(network)]
    assert biases[0] == [0, -7, -14, -21]
    assert biases[2] == [0, -6, -7, -8] * 3  # v carried, then v-(n-1), v-n, v-(n+1)
    assert parts(network)[5].weight.tolist() == [[1, -7, 0, 0, 0, 0], [0, 0, 1, -7, 0, 0], [0, 0, 0, 0, 1, -7]]


def test_the_slope_of_the_modulo_is_zero_at_remainder_zero_and_one_elsewhere() -> None:
    wire, network = paper()
    x = whole(0, 4920).requires_grad_()
    expected = (x[:, 0] % 30 != 0).float()
    assert torch.equal(slopes(evaluate(wire, x), x), expected)
    assert torch.equal(slopes(network(x), x), expected)


def test_between_29_and_30_the_modulo_falls_with_slope_minus_29() -> None:
    wire, network = paper()
    x = (whole(0, 163) * 30 + 29.5).requires_grad_()
    assert set(slopes(evaluate(wire, x), x).tolist()) == {-29}
    assert set(slopes(network(x), x).tolist()) == {-29}


@settings(max_examples=25)
@given(st.integers(1, 12), st.integers(1, 60))
def test_modulo_is_exact_for_any_modulus_and_range(n: int, largest: int) -> None:
    wire, x = modulo(X, n, largest), whole(0, largest).requires_grad_()
    network = compile_mlp([X], [wire])
    assert torch.equal(network(x), x % n)
    assert torch.equal(evaluate([wire], x), x % n)
    assert torch.equal(slopes(network(x), x), slopes(evaluate([wire], x), x))
    steps = -(-largest // n)
    assert [layer.out_features for layer in parts(network)] == [
        steps + 1, steps, 4 * steps, 3 * steps, 2 * steps, steps, 1,
    ]  # fmt: skip
