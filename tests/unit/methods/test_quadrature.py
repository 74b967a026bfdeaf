"""Nodes and weights on [0, 1]."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from assay.kit.quadrature import quadrature

RULES = ["midpoint", "left", "right", "trapezoid", "gauss_legendre"]


@pytest.mark.parametrize("rule", RULES)
@given(steps=st.integers(2, 200))
def test_weights_sum_to_one_and_nodes_stay_inside(rule, steps):
    nodes, weights = quadrature(rule, steps)
    assert nodes.shape == weights.shape == (steps,)
    assert abs(weights.sum() - 1) < 1e-12
    assert 0 <= nodes.min() <= nodes.max() <= 1
    assert torch.equal(nodes, nodes.sort().values)


@pytest.mark.parametrize(
    "rule, degree", [("left", 0), ("right", 0), ("midpoint", 1), ("trapezoid", 1), ("gauss_legendre", 9)]
)
def test_polynomials_are_integrated_exactly_up_to_the_rules_degree_and_no_further(rule, degree):
    nodes, weights = quadrature(rule, 5)
    errors = [abs(float(weights @ nodes**power) - 1 / (power + 1)) for power in range(degree + 2)]
    assert max(errors[:-1]) < 1e-14
    assert errors[-1] > 1e-7


def test_ends_are_where_their_names_say():
    assert quadrature("left", 4)[0].tolist() == [0, 0.25, 0.5, 0.75]
    assert quadrature("right", 4)[0].tolist() == [0.25, 0.5, 0.75, 1]
    assert quadrature("midpoint", 4)[0].tolist() == [0.125, 0.375, 0.625, 0.875]
    assert quadrature("trapezoid", 5)[0].tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert quadrature("trapezoid", 2)[1].tolist() == [0.5, 0.5]
    assert quadrature("midpoint", 1)[0].tolist() == [0.5]
