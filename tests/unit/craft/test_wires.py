"""Wires are affine normal forms over shared units, and are interpreted as plain torch would compute them."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from assay.core.errors import AssayError
from assay.craft.wires import evaluate, lift, reachable, relu, source, twin

X, Y = source(0), source(1)


def at(*values: float) -> Tensor:
    return torch.tensor([values], dtype=torch.float32)


def test_arithmetic_with_constants_on_either_side() -> None:
    assert evaluate(3 - 2 * X + Y * 4 - 1, at(5, 7)).item() == 3 - 10 + 28 - 1
    assert evaluate(-(X - Y), at(5, 7)).item() == 2
    assert evaluate(sum([X, Y, X]), at(5, 7)).item() == 17  # type: ignore[arg-type]
    assert evaluate(lift(2.5), at(5, 7)).item() == 2.5


def test_equal_expressions_are_one_unit_whatever_the_order_of_their_terms() -> None:
    assert relu(X + 2 * Y - 1) == relu(Y + X - 1 + Y)
    assert relu(X - 0) == relu(X)
    assert relu(lift(0) * -1) == relu(0)


@pytest.mark.parametrize("other", [X + Y, X - Y, X + 1, 2 * X, Y, twin(X, "a")])
def test_different_expressions_are_different_units(other: object) -> None:
    assert relu(X) != relu(other)  # type: ignore[arg-type]


def test_shared_sub_expressions_are_visited_once() -> None:
    wire = X
    for _ in range(60):  # 2^60 paths
        wire = relu(wire + 1) + relu(wire + 1) * 2 - relu(wire)
    assert len(reachable([wire])) == 1 + 2 * 60
    evaluate(wire * 0, at(1))


def test_units_come_after_what_they_depend_on() -> None:
    order = reachable([relu(relu(X - 1) - relu(relu(Y)))])
    assert [unit.depth for unit in order] == sorted(unit.depth for unit in order) == [0, 0, 1, 1, 2, 3]


def test_a_graph_far_deeper_than_the_recursion_limit_evaluates_and_is_freed() -> None:
    wire = X
    for _ in range(20_000):
        wire = relu(wire + 1)
    assert evaluate(wire, at(0)).item() == 20_000
    assert "key=" in repr(wire)
    assert hash(wire) == hash(wire + 0)


def test_a_written_zero_stays_a_connection() -> None:
    unit = relu(Y)
    assert (X + 0 * unit).terms == ((X.terms[0][0], 1.0), (unit.terms[0][0], 0.0))


def test_relu_has_derivative_zero_at_its_kink() -> None:
    x = torch.tensor([[-1.0], [0.0], [2.0]], requires_grad=True)
    evaluate(relu(X), x).sum().backward()  # type: ignore[no-untyped-call]
    assert x.grad is not None
    assert x.grad.flatten().tolist() == [0, 0, 1]


def test_twins_have_the_same_value_and_gradient_and_share_what_they_are_made_from() -> None:
    unit = relu(relu(X) - 2)
    both = unit + twin(unit, "again")
    x = torch.tensor([[5.0]], requires_grad=True)
    evaluate(both, x).sum().backward()  # type: ignore[no-untyped-call]
    assert evaluate(both, x).item() == 6
    assert x.grad is not None
    assert x.grad.item() == 2
    assert len(reachable([both])) == 4  # X, relu(X), and the two


def test_one_wire_drops_the_channel_axis_and_several_keep_it() -> None:
    image = torch.arange(48.0).view(2, 2, 3, 4)
    assert evaluate(X + Y, image).shape == (2, 3, 4)
    assert evaluate([X + Y, X, lift(1)], image).shape == (2, 3, 3, 4)
    assert torch.equal(evaluate([Y, X], image), image.flip(1))


def test_inputs_are_numbered_from_zero() -> None:
    with pytest.raises(AssayError, match="numbered from 0"):
        source(-1)


@settings(max_examples=50)
@given(st.lists(st.integers(-9, 9), min_size=3, max_size=3), st.integers(-9, 9), st.integers(-9, 9))
def test_affine_wires_compute_the_affine_map(weights: list[int], constant: int, factor: int) -> None:
    a, b, c = weights
    wire = factor * (a * X + b * Y - c * (X - Y) + constant)
    assert evaluate(wire, at(3, -4)).item() == factor * (a * 3 - b * 4 - c * 7 + constant)
