"""Which maps lie on a grid, and what the best of them reaches."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import interpolate

from assay.core.map_grid import Cells, Nodes
from assay.kit.map_grids import best_f1, best_f1_on, lies_on
from assay.kit.soft_precision import f1, scaled_by_largest


def enlarged(nodes: int, pixels: int) -> torch.Tensor:
    lines = torch.eye(nodes, dtype=torch.float64)[None]
    return interpolate(lines, pixels, mode="linear", align_corners=False)[0].T


def layer(height: int, width: int, nodes: int) -> Nodes:
    return Nodes(enlarged(nodes, height), enlarged(nodes, width))


def uniform(seed: int, *shape: int) -> torch.Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_an_enlarged_layer_lies_on_its_grid_and_nothing_else_does(dtype: torch.dtype) -> None:
    numbers = uniform(0, 3, 1, 3, 4)
    numbers[1, 0, 0, 0] = -0.1
    maps = interpolate(numbers, (10, 9), mode="bilinear", align_corners=False)[:, 0].to(dtype)
    maps[2, 5, 5] += 0.01
    grid = Nodes(enlarged(3, 10), enlarged(4, 9))
    assert lies_on(grid, maps).tolist() == [True, False, False]
    assert lies_on(grid, torch.zeros_like(maps)).all()
    assert not lies_on(grid, maps[:, :9]).any()


def test_numbers_of_either_sign_lie_on_cells() -> None:
    cells = torch.tensor([[0, 1, 1, 2], [0, 0, 1, 1]])
    maps = torch.tensor([[-1.0, 2.0, 2.0, 0.5], [1.0, 2.0, 2.0, 2.0]])
    assert lies_on(Cells(cells), maps).tolist() == [True, False]
    assert lies_on(Cells(cells[:1]), maps).tolist() == [True, True]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 4), st.integers(5, 9), st.integers(5, 9))
def test_no_enlarged_layer_exceeds_the_best(seed: int, nodes: int, height: int, width: int) -> None:
    grid, true = layer(height, width, nodes), uniform(seed, 1, height, width) ** 4
    numbers = uniform(seed + 1, 500, nodes, nodes) ** uniform(seed + 2, 500, 1, 1).mul(20)
    maps = scaled_by_largest((grid.down @ numbers @ grid.across.T).flatten(1))
    best, finest = best_f1_on(grid, true), best_f1(true.flatten(1), torch.ones(1, height * width).double())
    assert (f1(maps, true.flatten(1).expand(500, -1)) <= best + 1e-9).all()
    assert best <= finest + 1e-9


def test_a_layer_as_fine_as_the_image_is_no_limit() -> None:
    true = uniform(3, 4, 6, 6) ** 3
    finest = best_f1(true.flatten(1), torch.ones(4, 36).double())
    torch.testing.assert_close(best_f1_on(layer(6, 6, 6), true), finest, rtol=1e-9, atol=0)
    torch.testing.assert_close(best_f1_on(Cells(torch.arange(36).view(1, 6, 6)), true), finest, rtol=1e-12, atol=0)


def test_without_truth_nothing_is_reached() -> None:
    empty = torch.zeros(2, 6, 6, dtype=torch.float64)
    assert best_f1_on(layer(6, 6, 3), empty).tolist() == [0, 0]
    assert best_f1_on(Cells(torch.zeros(1, 6, 6).long()), empty).tolist() == [0, 0]


def test_half_of_the_pixels_of_a_segment_reach_two_thirds() -> None:
    """The bound of attributionlab: precision 1/2, recall 1."""
    true = torch.tensor([[1.0, 0.0, 1.0, 0.0, 0.0, 0.0]], dtype=torch.float64)
    assert best_f1_on(Cells(torch.tensor([[0, 0, 0, 0, 1, 1]])), true).tolist() == [pytest.approx(2 / 3)]
