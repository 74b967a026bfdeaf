"""Compiled networks compute what the wires say, value and gradient, in a documented layout."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from assay.core.errors import AssayError
from assay.craft.compile import compile_mlp, compile_pixelwise, schedule
from assay.craft.wires import Wire, evaluate, lift, relu, source, twin

X, Y = source(0), source(1)
GRID = torch.tensor(list(product(range(-2, 3), repeat=2)), dtype=torch.float32)


def parts(network: nn.Sequential) -> list[Any]:
    """The linear layers."""
    return list(network)[::2]


def widths(network: nn.Sequential) -> list[int]:
    return [len(layer.weight) for layer in parts(network)]


def kinds(network: nn.Sequential) -> str:
    return "".join(type(module).__name__[0] for module in network)


@st.composite
def programs(draw: st.DrawFn) -> list[Wire]:
    """Up to eight relus over whatever was built before, then affine or relu outputs."""
    weights = st.integers(-2, 2)
    wires: list[Wire] = [relu(X), relu(Y), relu(X - Y), relu(-X)]
    for _ in range(draw(st.integers(1, 8))):
        picked = draw(st.lists(st.sampled_from(wires), min_size=1, max_size=3))
        wires.append(relu(sum((draw(weights) * wire for wire in picked), start=lift(draw(weights)))))
    outputs = draw(st.lists(st.sampled_from(wires), min_size=1, max_size=4))
    return [wire - draw(weights) for wire in outputs] if draw(st.booleans()) else outputs


def gradient(output: Tensor, x: Tensor) -> Tensor:
    seeds = torch.arange(1.0, output.shape[1] + 1)  # every output counts, each differently
    total = (output * seeds).sum()
    if not total.requires_grad:  # constant outputs
        return torch.zeros_like(x)
    (slope,) = torch.autograd.grad(total, x)
    return slope


@settings(max_examples=150)
@given(programs())
def test_any_program_compiles_to_the_same_values_and_the_same_gradients_at_kinks(outputs: list[Wire]) -> None:
    x = GRID.clone().requires_grad_()
    network = compile_mlp([X, Y], outputs)
    assert torch.equal(network(x), evaluate(outputs, x))
    assert torch.equal(gradient(network(x), x), gradient(evaluate(outputs, x), x))


@settings(max_examples=20)
@given(programs())
def test_the_pixelwise_network_is_the_same_at_every_pixel(outputs: list[Wire]) -> None:
    image = GRID.T.reshape(1, 2, 5, 5)
    network = compile_pixelwise([X, Y], outputs)
    assert all(isinstance(module, nn.Conv2d | nn.ReLU) for module in network)
    assert torch.equal(network(image).flatten(2)[0].T, compile_mlp([X, Y], outputs)(GRID))


def test_relu_outputs_end_in_a_relu_and_affine_outputs_do_not() -> None:
    assert kinds(compile_mlp([X], [relu(relu(X) - 1)])) == "LRLR"
    assert kinds(compile_mlp([X], [relu(relu(X) - 1) - 1])) == "LRLRL"
    assert kinds(compile_mlp([X], [relu(X), relu(X) - 1])) == "LRL"
    assert kinds(compile_mlp([X], [X])) == "L"
    assert kinds(compile_mlp([X], [lift(3)])) == "L"


def test_shared_units_are_computed_once() -> None:
    a, b = relu(X - 1), relu(Y - 2)
    network = compile_mlp([X, Y], [relu(a + b), relu(a - b), relu(relu(X - 1) * 2)])
    assert widths(network) == [2, 3]


def test_twins_and_repeated_outputs_keep_channels_of_their_own() -> None:
    a = relu(X - 1)
    assert widths(compile_mlp([X], [relu(a + twin(a, "again"))])) == [2, 1]
    assert widths(compile_mlp([X], [a, a, twin(a, "again")])) == [3]
    assert widths(compile_mlp([X], [relu(relu(twin(X, "p") - 1) + relu(twin(X, "q") - 1))])) == [2, 1]
    assert compile_mlp([X], [twin(X, "p") + twin(X, "q")])(torch.ones(1, 1)).item() == 2


def test_units_are_carried_only_while_needed() -> None:
    late, deep = relu(X - 1), relu(relu(relu(Y) - 1) - 2)
    network = compile_mlp([X, Y], [relu(relu(relu(late + deep) - 1) - 3)])
    assert widths(network) == [2, 2, 2, 1, 1, 1]


def test_a_written_zero_keeps_its_unit_in_the_network() -> None:
    a, b = relu(X), relu(Y)
    assert widths(compile_mlp([X, Y], [relu(a + 0 * b)])) == [2, 1]


def test_channels_come_in_the_order_the_next_layer_first_mentions_them() -> None:
    a, b, c = (relu(X - k) for k in (1, 2, 3))
    network = compile_mlp([X], [relu(c + a), relu(b - a), relu(c - b)])
    assert parts(network)[0].bias.tolist() == [-3, -1, -2]
    assert parts(network)[1].weight.tolist() == [[1, 1, 0], [0, -1, 1], [1, 0, -1]]


def test_inputs_take_the_columns_they_are_passed_in() -> None:
    assert parts(compile_mlp([Y, X], [X - 2 * Y]))[0].weight.tolist() == [[-2, 1]]


def test_weights_are_frozen_float32_and_compiling_draws_no_random_numbers() -> None:
    before = torch.get_rng_state()
    network = compile_mlp([X], [relu(relu(X) * 0.5 - 0.25)])
    assert torch.equal(torch.get_rng_state(), before)
    assert {(p.dtype, p.requires_grad, p.device.type) for p in network.parameters()} == {(torch.float32, False, "cpu")}


def test_a_carried_input_that_may_be_negative_is_refused() -> None:
    with pytest.raises(AssayError, match=r"Input 0 is needed after layer 1.*write relu\(x\)"):
        compile_mlp([X], [relu(relu(X - 1) - X)])
    with pytest.raises(AssayError, match="Input 1"):
        compile_mlp([X, Y], [relu(X - 1) + Y])


def test_an_input_known_to_be_nonnegative_is_carried_as_its_relu() -> None:
    deep = relu(relu(X - 1) - 1)
    outputs = [relu(relu(X) - 3 * deep)]
    x = torch.arange(5.0)[:, None].requires_grad_()
    network = compile_mlp([X], outputs)
    assert network(x).flatten().tolist() == [0, 1, 2, 0, 0]
    assert torch.equal(gradient(network(x), x), gradient(evaluate(outputs, x), x))


def test_a_weight_that_float32_cannot_hold_is_refused() -> None:
    with pytest.raises(AssayError, match=r"0\.1 is not a float32"):
        compile_mlp([X], [relu(0.1 * X)])
    with pytest.raises(AssayError, match=r"16777217\.0 is not a float32"):
        compile_mlp([X], [relu(X - (2**24 + 1))])


def test_inputs_must_be_sources_and_complete() -> None:
    with pytest.raises(AssayError, match="Input 1 is used"):
        compile_mlp([X], [relu(Y)])
    with pytest.raises(AssayError, match="must be source wires"):
        compile_mlp([X, relu(Y)], [relu(X)])
    with pytest.raises(AssayError, match="must be source wires"):
        compile_mlp([X, X], [relu(X)])
    with pytest.raises(AssayError, match="no outputs"):
        compile_mlp([X], [])


def test_the_schedule_puts_every_relu_at_its_depth() -> None:
    early, late = relu(X - 1), relu(relu(Y) - 1)
    plan = schedule([early, late])
    assert plan.rectified
    assert plan.layers == ((X - 1, lift(0) + Y), (early, relu(Y) - 1))
