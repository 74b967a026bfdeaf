"""Boxes of entries as features: what peers explain where ours are pixels."""

import torch

from assay.kit.grid_cells import grid_cells
from benchmarks.problems import Boxes


def test_a_cell_of_a_grid_has_its_number_in_all_channels():
    boxes, cells = Boxes((3, 6, 8), (1, 3, 2)), torch.arange(6)
    assert boxes.expand(cells.view(2, 1, 3, 1).expand(2, 1, 3, 2)).shape == (2, 3, 6, 8)
    assert torch.equal(boxes.expand(cells.view(1, 3, 2)), grid_cells(6, 8, 3, 2).expand(3, 6, 8))


def test_an_entry_may_be_a_feature_of_its_own():
    boxes, x = Boxes((3, 2, 4), (3, 2, 4)), torch.arange(24).view(3, 2, 4)
    assert torch.equal(boxes.expand(x), x)
    assert torch.equal(boxes.pool(x), x)


def test_entries_are_summed_per_box():
    boxes = Boxes((3, 6, 8), (1, 3, 2))
    ones, numbers = torch.ones(5, 3, 6, 8), torch.arange(6.0).view(1, 3, 2)
    assert torch.equal(boxes.pool(ones), torch.full((5, 1, 3, 2), 3 * 2 * 4))
    assert torch.equal(boxes.pool(boxes.expand(numbers)), 24 * numbers)
