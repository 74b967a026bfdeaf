"""Local variance, against a loop over pixels and their windows."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import ndimage
from torch.testing import assert_close

from assay.core.errors import NotApplicable, SpecError
from assay.methods.local_variance import LocalVariance
from scenes import Flat, ask, data, mlp
from streams import seeded


@seeded()
def question(x):
    model = Flat(torch.nn.Identity(), torch.nn.Linear(x[0].numel(), 2)).to(x.dtype)
    return ask(model, x)


def literal(image, kernel, form):
    """One window at a time."""
    gray = sum(image) / len(image)
    height, width = gray.shape
    reach = kernel // 2
    result = np.zeros((height, width))
    for row in range(height):
        for column in range(width):
            rows = range(max(0, row - reach), min(height, row + reach + 1))
            columns = range(max(0, column - reach), min(width, column + reach + 1))
            window = [gray[r, c] for r in rows for c in columns]
            if form == "faithful":
                result[row, column] = sum((value - gray.mean()) ** 2 for value in window) / kernel**2
            else:
                mean = sum(window) / len(window)
                result[row, column] = sum((value - mean) ** 2 for value in window) / len(window)
    return result


@pytest.mark.parametrize("form", ["faithful", "corrected"])
@pytest.mark.parametrize("kernel", [1, 3, 5, 31])
@pytest.mark.parametrize("height, width", [(9, 9), (6, 11)])
def test_the_map_is_the_literal_loop(height, width, kernel, form):
    x = 3 + data(2, 3, height, width).double()
    expected = torch.from_numpy(np.stack([literal(image, kernel, form) for image in x.numpy()]))
    assert_close(LocalVariance(kernel=kernel, form=form)(question(x)), expected, rtol=1e-9, atol=1e-12)


def test_the_faithful_form_is_scipy_s_mean_filter():
    x = data(1, 3, 12, 10).double()
    gray = x[0].numpy().mean(axis=0)
    expected = ndimage.uniform_filter((gray - gray.mean()) ** 2, size=7, mode="constant")
    assert_close(LocalVariance(kernel=7, form="faithful")(question(x))[0].numpy(), expected, rtol=1e-9, atol=1e-12)


def test_flat_surroundings_have_exactly_none():
    """An image of two flat halves: only windows that touch both vary; the faithful form sees both halves everywhere."""
    x = torch.full((1, 3, 8, 12), 0.1)
    x[..., 6:] = 0.7
    found = LocalVariance(kernel=5)(question(x))[0]
    assert (found[:, :4] == 0).all()
    assert (found[:, 8:] == 0).all()
    assert (found[:, 4:8] > 0).all()
    assert (LocalVariance(kernel=5, form="faithful")(question(x)) > 0).all()


def test_where_it_does_not_apply():
    with pytest.raises(NotApplicable, match="needs an image, and this is table data"):
        LocalVariance()(ask(mlp(), data(1, 6)))
    for wrong in (0, 4, -3):
        with pytest.raises(SpecError, match="has no central pixel"):
            LocalVariance(kernel=wrong)
