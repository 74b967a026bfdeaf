"""Cells of a grid, and values that are equal up to rounding."""

from __future__ import annotations

import pytest
import torch

from assay.core.errors import NotApplicable
from assay.core.features import Columns, Pixels, Tokens
from assay.kit.grid_cells import bands, cell_sums, feature_cells, grid_cells
from assay.kit.rounding import rounding_levels


@pytest.mark.parametrize(("length", "parts"), [(32, 4), (64, 7), (48, 7), (224, 7), (5, 5), (9, 1), (10, 9)])
def test_bands_follow_one_another_and_differ_by_one_place_at_most(length: int, parts: int) -> None:
    part_of_position = bands(length, parts)
    assert torch.equal(part_of_position, part_of_position.sort().values)
    sizes = part_of_position.bincount(minlength=parts)
    assert len(sizes) == parts
    assert int(sizes.sum()) == length
    assert int(sizes.max() - sizes.min()) <= (length % parts > 0)


@pytest.mark.parametrize("parts", [0, 6])
def test_more_parts_than_places_cannot_be(parts: int) -> None:
    with pytest.raises(ValueError, match=f"5 positions cannot be cut into {parts} parts"):
        bands(5, parts)


def test_a_grid_is_read_like_a_page() -> None:
    assert grid_cells(2, 4, 2, 2).tolist() == [[0, 0, 1, 1], [2, 2, 3, 3]]
    assert grid_cells(3, 2, 3, 1).tolist() == [[0, 0], [1, 1], [2, 2]]


def test_a_feature_that_is_no_pixel_is_a_cell() -> None:
    assert feature_cells(Columns((0, 0, 1, 2)), (4, 4)).tolist() == [0, 1, 2]
    assert feature_cells(Tokens(5, 3), (4, 4)).tolist() == [0, 1, 2, 3, 4]
    assert feature_cells(Pixels(3, 4, 8), (2, 2)).shape == (4, 8)
    with pytest.raises(NotApplicable, match="images are 3 x 9"):
        feature_cells(Pixels(1, 3, 9), (4, 4))


def test_sums_of_cells_are_exact_where_float32_is_not() -> None:
    values = torch.tensor([[1e8, 1.0, 1.0, -1e8], [0.0, 1.0, 2.0, 4.0]])
    assert cell_sums(values, torch.tensor([0, 0, 1, 0])).tolist() == [[1.0, 1.0], [5.0, 2.0]]


def test_levels_join_what_lies_within_rounding_and_no_chain_of_small_steps() -> None:
    values = torch.tensor([[3.0, 1.0, 1.2, 2.0, 1.4], [5.0, 5.0, 5.0, 5.0, 5.0]])
    assert rounding_levels(values, torch.tensor([0.25, 0.0])).tolist() == [[3, 0, 0, 2, 1], [0, 0, 0, 0, 0]]
    assert rounding_levels(values, torch.tensor([0.1, 9.0])).tolist() == [[4, 0, 1, 3, 2], [0, 0, 0, 0, 0]]
