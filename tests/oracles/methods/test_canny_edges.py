"""Canny's edges, against a loop over pixels in the manner of OpenCV's source."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import ndimage
from torch.testing import assert_close

from assay.core.errors import NotApplicable, SpecError
from assay.methods.canny_edges import CannyEdges
from scenes import Flat, ask, data, mlp
from streams import seeded


@seeded()
def question(x):
    model = Flat(torch.nn.Identity(), torch.nn.Linear(x[0].numel(), 2)).to(x.dtype)
    return ask(model, x)


def smooth(count, channels, height, width):
    """Blurred noise: edges that are longer than a pixel."""
    noise = data(count, channels, height, width).double().numpy()
    return torch.from_numpy(4 * ndimage.gaussian_filter(noise, (0, 0, 1.2, 1.2)))


def levels(image, form):
    """The image in 8 bits."""
    if form == "faithful":
        return np.fix(image * 255).astype(np.int64).astype(np.uint8).astype(int)
    return np.rint((image - image.min()) / (image.max() - image.min()) * 255).astype(int)


def brightness(image):
    if len(image) == 3:
        return (image[0] * 9798 + image[1] * 19235 + image[2] * 3735 + 16384) >> 15
    return np.floor(image.mean(axis=0) + 0.5).astype(int)


def survives(slope, down, across, row, column):
    """Largest of the three across the edge; whole-number tangents of 22.5 and 67.5 degrees."""
    here = slope[row + 1, column + 1]
    x, y = abs(across[row, column]), abs(down[row, column]) << 15
    if y < x * 13573:
        return here > slope[row + 1, column] and here >= slope[row + 1, column + 2]
    if y > x * 13573 + (x << 16):
        return here > slope[row, column + 1] and here >= slope[row + 2, column + 1]
    side = -1 if (across[row, column] ^ down[row, column]) < 0 else 1
    return here > slope[row, column + 1 - side] and here > slope[row + 2, column + 1 + side]


def literal(image, low, high, form):
    """One pixel at a time; edges are followed from each strong pixel."""
    gray = brightness(levels(image, form))
    down, across = (ndimage.sobel(gray, axis=axis, mode="nearest") for axis in (0, 1))
    slope = np.pad(abs(down) + abs(across), 1)
    height, width = gray.shape
    kept = {
        (row, column): slope[row + 1, column + 1]
        for row in range(height)
        for column in range(width)
        if slope[row + 1, column + 1] > low and survives(slope, down, across, row, column)
    }
    todo = [pixel for pixel, value in kept.items() if value > high]
    result = np.zeros((height, width))
    while todo:
        row, column = todo.pop()
        result[row, column] = 1
        around = [(row + i, column + j) for i in (-1, 0, 1) for j in (-1, 0, 1)]
        todo += [pixel for pixel in around if pixel in kept and not result[pixel]]
    return result


@pytest.mark.parametrize("form", ["faithful", "corrected"])
@pytest.mark.parametrize("low, high", [(100, 200), (50, 400), (0, 0)])
@pytest.mark.parametrize("channels, height, width", [(3, 24, 24), (3, 17, 30), (2, 20, 9)])
def test_the_map_is_the_literal_loop(channels, height, width, low, high, form):
    x = smooth(3, channels, height, width)
    expected = torch.from_numpy(np.stack([literal(image, low, high, form) for image in x.numpy()]))
    assert 0 < expected.mean() < 0.7
    assert torch.equal(CannyEdges(low=low, high=high, form=form)(question(x)), expected)


def test_a_weak_edge_stays_only_where_it_hangs_on_a_strong_one():
    """Sobel's slope of a step of 100 is 400, of 40 is 160. The second image has its weak edge apart."""
    x = torch.zeros(2, 1, 12, 12)
    x[:, :, :, 6:] = 40
    x[0, :, :6, 6:] = 100
    x[:, :, 11, 0] = 255  # sets the scale
    found = CannyEdges(low=100, high=300)(question(x))
    assert (found[0, 1:9, 5:7].amax(dim=1) == 1).all()
    assert (found[1, 1:9] == 0).all()
    assert (CannyEdges(low=100, high=150)(question(x))[1, 1:9, 5:7].amax(dim=1) == 1).all()


def test_negative_numbers_wrap_around_only_in_the_study():
    """-1/255 becomes 255 next to 0: an edge that is none."""
    x = torch.zeros(1, 3, 8, 8).double()
    x[..., 4:] = -1.5 / 255
    x[..., 0, 0] = 0.5
    assert CannyEdges(form="faithful")(question(x))[0, 4:, 3:5].sum() > 0
    assert CannyEdges()(question(x))[0, 4:, 3:5].sum() == 0


def test_a_flat_image_has_no_edges():
    flat = torch.full((2, 3, 6, 6), 0.3)
    assert_close(CannyEdges()(question(flat)), torch.zeros(2, 6, 6))


def test_where_it_does_not_apply():
    with pytest.raises(NotApplicable, match="needs an image, and this is table data"):
        CannyEdges()(ask(mlp(), data(1, 6)))
    for wrong in ({"low": -1.0}, {"low": 201.0}):
        with pytest.raises(SpecError, match="Choose 0 <= low <= high"):
            CannyEdges(**wrong)
