"""Pooling over bands, against a loop over rows."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from assay.core.errors import NotApplicable, SpecError
from assay.core.map_grid import Cells
from assay.methods.crafted import Bands
from scenes import Flat, ask, data, mlp
from streams import seeded


@dataclass(frozen=True, eq=False)
class Given:
    """Answers with the same numbers whatever it is asked."""

    attribution: Tensor

    def __call__(self, query):
        return self.attribution


@seeded()
def query(count, rows=8, columns=8):
    model = Flat(torch.nn.Identity(), torch.nn.Linear(2 * rows * columns, 3)).double()
    return ask(model, data(count, 2, rows, columns).double())


def literal(attribution, bands, weights):
    """One map (channels, rows, columns): band b holds the rows from b * rows / bands on, rounded up."""
    channels, rows, columns = attribution.shape
    result = torch.zeros(rows, columns, dtype=torch.float64)
    for band in range(bands):
        own = [row for row in range(rows) if band * rows <= row * bands < (band + 1) * rows]
        numbers = []
        for row in own:
            for column in range(columns):
                entries = [attribution[channel, row, column].item() for channel in range(channels)]
                numbers.append(sum(map(abs, entries)) if weights == "absolute" else max(sum(entries), 0.0))
        for row in own:
            result[row] = sum(numbers) / len(numbers)
    return result


@pytest.mark.parametrize("weights", ["absolute", "positive"])
@pytest.mark.parametrize("rows, columns, bands", [(8, 8, 4), (8, 6, 3), (10, 4, 7), (8, 8, 1), (6, 4, 9)])
def test_bands_are_the_literal_loop(rows, columns, bands, weights):
    asked = query(3, rows, columns)
    maps = data(3, 2, rows, columns, seed=3).double()
    found = Bands(Given(maps), bands, weights)(asked)
    expected = torch.stack([literal(one, bands, weights) for one in maps])
    assert_close(found, expected, rtol=1e-12, atol=0)


def test_it_says_what_its_maps_are_made_of():
    asked = query(2)
    Bands(Given(data(2, 2, 8, 8).double()), 4)(asked)
    grid = asked.remarks.grid
    assert isinstance(grid, Cells)
    assert grid.cells[0, :, 0].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert torch.equal(grid.cells, grid.cells[:, :, :1].expand(1, 8, 8))


def test_where_it_does_not_apply():
    with pytest.raises(NotApplicable, match="needs an image, and this is table data"):
        Bands()(ask(mlp(), data(1, 6)))
    with pytest.raises(SpecError, match="must be at least 1"):
        Bands(bands=0)
