"""A test that draws from a global stream fails, and what is made after a seed is the same every time."""

import random

import numpy as np
import pytest
import torch
from torch import nn

from streams import moved, seeded, streams

DRAWS = {"torch": lambda: torch.rand(1), "numpy": np.random.rand, "random": random.random}


@pytest.fixture(scope="module")
def drawn():
    return torch.rand(1)


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.xfail(strict=True, raises=pytest.fail.Exception, reason="it draws")
def test_a_test_that_draws_fails(name):
    DRAWS[name]()


@pytest.mark.xfail(strict=True, raises=pytest.fail.Exception, reason="its fixture draws")
def test_a_test_whose_fixture_draws_fails(drawn):
    pass


@pytest.mark.draws
@pytest.mark.xfail(strict=True, raises=pytest.fail.Exception, reason="it gives no reason")
def test_a_test_that_may_draw_says_why():
    pass


@pytest.mark.draws("to see that it is noticed")
@pytest.mark.parametrize("name", DRAWS)
def test_a_stream_that_moved_is_named(name):
    before = streams()
    DRAWS[name]()
    assert moved(before, streams()) == [name]


@pytest.mark.draws("to see that what was drawn before does not matter")
def test_layers_made_after_a_seed_are_equal_whatever_was_drawn_before():
    make = seeded(3)(lambda: nn.Linear(2, 2).weight)
    first = make()
    torch.rand(5)
    before = streams()
    assert torch.equal(make(), first)
    assert moved(before, streams()) == []
