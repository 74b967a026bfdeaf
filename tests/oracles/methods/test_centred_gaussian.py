"""The centred Gaussian, against a loop over pixels."""

from __future__ import annotations

from math import exp

import pytest
import torch
from torch.testing import assert_close

from assay.core.errors import NotApplicable, SpecError
from assay.methods.content_free import CentredGaussian
from scenes import Flat, ask, data, mlp
from streams import seeded


@seeded()
def question(count, height, width, channels=2):
    model = Flat(torch.nn.Identity(), torch.nn.Linear(channels * height * width, 2)).double()
    return ask(model, data(count, channels, height, width).double())


def literal(height, width, sigma, form):
    """One pixel at a time; axes of the study's code run from -1 to 1."""
    result = torch.zeros(height, width, dtype=torch.float64)
    for row in range(height):
        for column in range(width):
            if form == "faithful":
                down, across = -1 + 2 * row / (height - 1), -1 + 2 * column / (width - 1)
            else:
                down, across = row - (height - 1) / 2, column - (width - 1) / 2
            result[row, column] = exp(-(down**2 + across**2) / (2 * sigma**2))
    return result


@pytest.mark.parametrize("form", ["faithful", "corrected"])
@pytest.mark.parametrize("sigma", [0.5, 1, 6, 256])
@pytest.mark.parametrize("height, width", [(8, 8), (7, 12), (2, 5)])
def test_the_map_is_the_literal_loop(height, width, sigma, form):
    found = CentredGaussian(width=sigma, form=form)(question(2, height, width))
    expected = literal(height, width, sigma, form).expand(2, height, width)
    assert_close(found, expected, rtol=1e-9, atol=0)


@pytest.mark.parametrize("form", ["faithful", "corrected"])
def test_cells_of_a_grid_have_three_levels(form):
    """4 x 4 cells: centre, edge, corner. Turned and mirrored maps are equal bit by bit."""
    found = CentredGaussian(width=4, form=form)(question(1, 16, 16))[0]
    assert torch.equal(found, found.T)
    assert torch.equal(found, found.flip(0))
    assert len(found.view(4, 4, 4, 4).sum(dim=(1, 3)).mul(1e9).round().unique()) == 3


def test_the_study_s_widest_is_flat():
    """Mean of the corner cell over that of a centre cell, as in the study's code: 0.999992."""
    found = CentredGaussian(width=256, form="faithful")(question(1, 224, 224, channels=1))[0]
    ratio = found[:56, :56].mean() / found[56:112, 56:112].mean()
    assert round(ratio.item(), 6) == 0.999992


def test_where_it_does_not_apply():
    with pytest.raises(NotApplicable, match="needs an image, and this is table data"):
        CentredGaussian()(ask(mlp(), data(1, 6)))
    with pytest.raises(SpecError, match="is not positive"):
        CentredGaussian(width=0.0)
