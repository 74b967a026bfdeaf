"""Edge detectors, against SciPy's and NumPy's."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch
from scipy import ndimage
from torch.testing import assert_close

from assay.core.errors import NotApplicable, SpecError
from assay.methods.edge_map import EdgeMap
from scenes import Flat, ask, data, mlp
from streams import seeded

DETECTORS = ("intensity", "sobel", "marr_hildreth")
BORDERS = {"zero": "constant", "repeated": "nearest"}  # as SciPy calls them
VERSIONS = [
    (detector, form, border)
    for detector, form, border in product(DETECTORS, ("faithful", "corrected"), (None, *BORDERS))
    if (detector, form) != ("intensity", "corrected") or border is None
]


@seeded()
def question(x):
    model = Flat(torch.nn.Identity(), torch.nn.Linear(x[0].numel(), 2)).to(x.dtype)
    return ask(model, x)


def sobel(gray, mode):
    return ndimage.sobel(gray, axis=0, mode=mode), ndimage.sobel(gray, axis=1, mode=mode)


def laplacian(gray, smooth_mode, mode):
    """A Gaussian of width 1, cut at two pixels; then the sum of four neighbours minus four times the pixel."""
    smooth = ndimage.gaussian_filter(gray, sigma=1.0, radius=2, mode=smooth_mode)
    return ndimage.laplace(smooth, mode=mode)


def literal(image, detector, form, border):
    """SciPy calls zeros outside "constant", repeated borders "nearest", torchvision's reflection "mirror"."""
    gray = image.mean(axis=0)
    mode = {("faithful", None): "constant", ("corrected", None): "nearest"}.get((form, border), BORDERS.get(border))
    match detector, form:
        case "intensity", "faithful":
            down, across = sobel(gray, mode)
            return np.sqrt(down**2 + across**2 + 1e-8)
        case "intensity", "corrected":
            down, across = np.gradient(gray)
            return np.sqrt(down**2 + across**2)
        case "sobel", _:
            down, across = sobel(gray, mode)
            return abs(down) + abs(across)
        case "marr_hildreth", "faithful":
            return laplacian(gray, "mirror", mode)
        case "marr_hildreth", "corrected":
            return abs(laplacian(gray, "nearest", mode))


@pytest.mark.parametrize("detector, form, border", VERSIONS)
@pytest.mark.parametrize("height, width", [(9, 9), (6, 11), (3, 4)])
def test_the_map_is_scipy_s(height, width, detector, form, border):
    x = 2 + data(2, 3, height, width).double()
    expected = torch.from_numpy(np.stack([literal(image, detector, form, border) for image in x.numpy()]))
    assert_close(EdgeMap(detector, form, border)(question(x)), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("detector", DETECTORS)
def test_the_border_of_each_form_is_one_that_can_be_named(detector):
    x = question(2 + data(2, 3, 7, 8))
    assert torch.equal(EdgeMap(detector, "faithful")(x), EdgeMap(detector, "faithful", "zero")(x))
    other = EdgeMap(detector, "faithful", "repeated")(x)
    assert torch.equal(other[:, 1:-1, 1:-1], EdgeMap(detector, "faithful")(x)[:, 1:-1, 1:-1])
    if detector != "intensity":
        assert torch.equal(EdgeMap(detector)(x), EdgeMap(detector, border="repeated")(x))


@pytest.mark.parametrize("border", BORDERS)
def test_a_border_where_nothing_is_read_outside_is_refused(border):
    with pytest.raises(SpecError, match="Leave border out"):
        EdgeMap("intensity", border=border)


@pytest.mark.parametrize("detector", DETECTORS)
def test_only_the_faithful_form_takes_the_frame_for_an_edge(detector):
    flat = question(torch.ones(1, 3, 8, 8).double())
    assert EdgeMap(detector=detector)(flat).abs().max() < 1e-12
    faithful = EdgeMap(detector=detector, form="faithful")(flat)[0]
    assert (faithful[0].abs() > 0.5).all()
    assert (faithful[2:6, 2:6].abs() < 1e-3).all()
    assert EdgeMap(detector, "faithful", "repeated")(flat).abs().max() < 1e-3


def test_a_step_is_found_where_it_is():
    x = torch.zeros(1, 1, 8, 8).double()
    x[..., 4:] = 1
    step = question(x)
    assert EdgeMap("sobel")(step)[0, 3].tolist() == [0, 0, 0, 4, 4, 0, 0, 0]
    assert EdgeMap("intensity")(step)[0, 3].tolist() == [0, 0, 0, 0.5, 0.5, 0, 0, 0]
    signed = EdgeMap("marr_hildreth", "faithful")(step)[0, 3]
    assert signed[3] > 0 > signed[4]


def test_where_it_does_not_apply():
    with pytest.raises(NotApplicable, match="needs an image, and this is table data"):
        EdgeMap()(ask(mlp(), data(1, 6)))
    with pytest.raises(NotApplicable, match="at least 3 pixels"):
        EdgeMap()(question(data(1, 1, 2, 5)))
