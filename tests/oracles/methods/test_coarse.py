"""Maps at a lower resolution, against loops over cells and over pixels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, floor

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from assay.core.errors import NotApplicable, SpecError
from assay.core.map_grid import Nodes
from assay.core.query import Remarks
from assay.kit.map_grids import lies_on
from assay.methods.agop import Agop
from assay.methods.cam import GradCam
from assay.methods.coarse import Coarse
from assay.methods.combinators import Absolute
from scenes import Flat, ask, cnn, data, fitted, mlp
from streams import seeded


@dataclass(frozen=True, eq=False)
class Given:
    """Answers with the same numbers whatever it is asked, and remarks on them."""

    attribution: Tensor

    def __call__(self, query):
        query.note("seen")
        query.remarks.resolution = torch.ones_like(self.attribution)
        query.remarks.grid = Nodes(torch.eye(8), torch.eye(8), "8x8 grid")
        return self.attribution


@seeded()
def images(count, rows, columns):
    model = Flat(torch.nn.Identity(), torch.nn.Linear(2 * rows * columns, 3)).double()
    return replace(ask(model, data(count, 2, rows, columns).double()), remarks=Remarks())


def mean_of_cell(values, row, column, cells):
    """Over every pixel that the cell touches; ``values`` are rows of numbers."""
    height, width = len(values), len(values[0])
    own = [
        values[y][x]
        for y in range(floor(row * height / cells), ceil((row + 1) * height / cells))
        for x in range(floor(column * width / cells), ceil((column + 1) * width / cells))
    ]
    return sum(own) / len(own)


def between(place, size, cells):
    """The two nearest cells of a pixel, and the weight of the second: centres are evenly spread."""
    position = min(max((place + 0.5) * cells / size - 0.5, 0.0), cells - 1.0)
    first = floor(position)
    return first, min(first + 1, cells - 1), position - first


def literal(attribution, cells):
    """One map (channels, rows, columns), or (rows, columns)."""
    values = (attribution.sum(dim=0) if attribution.dim() == 3 else attribution).tolist()
    height, width = len(values), len(values[0])
    means = [[mean_of_cell(values, row, column, cells) for column in range(cells)] for row in range(cells)]
    result = torch.zeros(height, width, dtype=torch.float64)
    for y in range(height):
        top, bottom, down = between(y, height, cells)
        for x in range(width):
            left, right, across = between(x, width, cells)
            upper = (1 - across) * means[top][left] + across * means[top][right]
            lower = (1 - across) * means[bottom][left] + across * means[bottom][right]
            result[y, x] = (1 - down) * upper + down * lower
    return result


@pytest.mark.parametrize("channels", [True, False])
@pytest.mark.parametrize(
    "rows, columns, cells", [(8, 8, 4), (8, 8, 3), (7, 10, 4), (6, 4, 4), (8, 8, 1), (9, 5, 2), (5, 5, 5)]
)
def test_the_map_is_the_literal_loop(rows, columns, cells, channels):
    query = images(3, rows, columns)
    maps = data(3, *((2,) if channels else ()), rows, columns, seed=3).double()
    expected = torch.stack([literal(one, cells) for one in maps])
    assert_close(Coarse(Given(maps), cells)(query), expected, rtol=1e-9, atol=1e-12)


def test_a_cell_for_each_pixel_is_the_map_itself_and_one_cell_its_mean():
    query, maps = images(2, 6, 6), data(2, 2, 6, 6, seed=3).double()
    assert_close(Coarse(Given(maps), 6)(query), maps.sum(dim=1), rtol=1e-9, atol=1e-12)
    mean = maps.sum(dim=1).mean(dim=(1, 2), keepdim=True).expand(2, 6, 6)
    assert_close(Coarse(Given(maps), 1)(query), mean, rtol=1e-9, atol=1e-12)


def test_a_coarse_map_of_a_layer_lies_on_a_grid_of_nodes():
    query = replace(ask(cnn(), data(3, 2, 8, 8)), remarks=Remarks())
    found = Coarse(GradCam("body.1"), 4)(query)
    grid = query.remarks.grid
    assert isinstance(grid, Nodes)
    assert grid.name == "4x4 grid"
    assert lies_on(grid, found).all()
    assert found.amax() > 0


def test_of_the_inner_map_s_remarks_only_notes_are_about_the_coarse_one():
    query = images(2, 8, 8)
    Coarse(Given(data(2, 8, 8).double()), 4)(query)
    assert query.remarks.notes == {"seen": 2}
    assert query.remarks.resolution is None
    assert query.remarks.grid is None  # numbers of both signs


def test_the_fit_is_the_inner_method_s():
    query = ask(cnn().double(), data(4, 2, 8, 8).double())
    method = Coarse(Agop(form="diagonal"), 2)
    expected = Agop(form="diagonal")(fitted(Agop(form="diagonal"), query))
    assert_close(method(fitted(method, query)), torch.stack([literal(one, 2) for one in expected]))
    assert not hasattr(Coarse(GradCam()), "fit")


def test_it_is_positive_where_the_inner_method_is():
    assert Coarse(GradCam()).positive_only
    assert Coarse(Absolute()).positive_only
    assert not Coarse(GradCam(relu=False)).positive_only


def test_where_it_does_not_apply():
    with pytest.raises(NotApplicable, match="needs an image, and this is table data"):
        Coarse()(ask(mlp(), data(1, 6)))
    with pytest.raises(NotApplicable, match="images are 6 x 9, ask for fewer cells"):
        Coarse(cells=7)(images(1, 6, 9))
    with pytest.raises(SpecError, match="must be at least 1"):
        Coarse(cells=0)
