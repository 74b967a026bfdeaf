"""RISE, against a literal loop over masks that SciPy enlarges."""

from __future__ import annotations

from math import ceil

import numpy as np
import pytest
import torch
from scipy import ndimage
from torch import nn
from torch.testing import assert_close

from assay.core.errors import NotApplicable, SpecError
from assay.core.machine import Machine
from assay.core.rng import Stream
from assay.core.setting import Samples
from assay.engine.artifacts.answer import make_query
from assay.methods.rise import Rise
from assay.studies.file import read
from scenes import TINY, Flat, ask, cnn, data, mlp, randomised
from streams import seeded


def masks_drawn(query, method, height, width):
    """The authors' generate_masks: enlarge each grid, cut out at a random place. Same draws as the method's."""
    stream = query.generator("masks")
    grids = (torch.rand(method.masks, method.grid, method.grid, generator=stream) < method.keep).double().numpy()
    places = [torch.rand(method.masks, generator=stream, dtype=torch.float64).tolist() for _ in range(2)]
    cell = [ceil(size / method.grid) for size in (height, width)]
    result = np.zeros((method.masks, height, width))
    for index, grid in enumerate(grids):
        zoom = [(method.grid + 1) * side / method.grid for side in cell]
        # what skimage.transform.resize(order=1, mode="reflect", anti_aliasing=False) calls
        large = ndimage.zoom(grid, zoom, order=1, mode="mirror", grid_mode=True)
        assert large.shape == tuple((method.grid + 1) * side for side in cell)
        top, left = (int(place[index] * side) for place, side in zip(places, cell, strict=True))
        result[index] = large[top : top + height, left : left + width]
    return torch.from_numpy(result)


def literal(query, method):
    """One image, one mask at a time."""
    _, _, height, width = query.x.shape
    masks = masks_drawn(query, method, height, width)
    result = torch.zeros(len(query.x), height, width, dtype=torch.float64)
    for row, target in enumerate(query.target.tolist()):
        for mask in masks:
            faded = mask * query.x[row] + (1 - mask) * query.baseline[row]
            result[row] += query.module(faded[None])[0, target].item() * mask
    return result / (method.masks * method.keep)


@seeded()
def net():
    body = nn.Sequential(nn.Conv2d(2, 3, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(2))
    return randomised(Flat(body, nn.Linear(12, 3))).double()


@pytest.mark.parametrize("height, width", [(8, 8), (24, 17), (5, 30)])
@pytest.mark.parametrize("grid, keep", [(8, 0.1), (3, 0.5), (2, 0.9)])
def test_the_map_is_the_literal_loop(height, width, grid, keep):
    query = ask(net(), data(2, 2, height, width).double(), "probability", baseline=0.3)
    method = Rise(masks=20, grid=grid, keep=keep)
    assert_close(method(query), literal(query, method), rtol=1e-9, atol=1e-12)


def test_rise_u_fades_into_one_picture_of_noise():
    """RISE-U: the same method, asked against the uniform baseline, as a study file says it."""
    table = {"use": "rise(masks=12)", "label": "RISE-U", "question": {"baseline": "uniform"}}
    study = read({"environments": ["color_count"], "methods": [table], "metrics": ["insertion"]}, "study")
    plain = ask(net(), data(3, 2, 9, 9).double(), "probability")
    samples = Samples(plain.x, plain.target, None, plain.indices)
    query = make_query(plain.setting, samples, study.methods[0].question, Stream("test"), Machine())
    noise = query.baseline[0]
    assert -1 <= noise.min() < -0.9 < 0.9 < noise.max() <= 1
    assert torch.equal(query.baseline, noise.expand(3, -1, -1, -1))
    assert_close(Rise(masks=12)(query), literal(query, Rise(masks=12)), rtol=1e-9, atol=1e-12)


@seeded()
def test_masks_are_on_average_what_is_kept():
    """A model that always says 1 gives the mean mask over keep, which is 1: to 5 standard errors of a single cell."""
    constant = Flat(nn.Identity(), nn.Linear(2 * 16 * 16, 1)).double().requires_grad_(False)
    constant.head.weight.zero_()
    constant.head.bias.fill_(1)
    found = Rise(masks=4000, grid=4, keep=0.5)(ask(constant, data(1, 2, 16, 16).double(), "value"))
    assert ((found - 1).abs() < 5 / 4000**0.5).all()


def test_what_is_kept_everywhere_is_the_score():
    query = ask(cnn().double(), data(3, 2, 8, 8).double())
    found = Rise(masks=3, keep=1.0)(query)
    assert_close(found, query.score(query.x)[:, None, None].expand(3, 8, 8), rtol=1e-9, atol=1e-12)


@seeded()
def test_it_finds_the_pixel_that_matters():
    model = Flat(nn.Identity(), nn.Linear(2 * 16 * 16, 1, bias=False)).requires_grad_(False)
    model.head.weight.zero_()
    model.head.weight.view(2, 16, 16)[:, 4, 11] = 1
    found = Rise(masks=2000, keep=0.5)(ask(model, torch.ones(1, 2, 16, 16), "value"))[0]
    place = found.argmax().item()
    assert abs(place // 16 - 4) <= 1
    assert abs(place % 16 - 11) <= 1


def test_little_memory_is_enough():
    x = data(6, 2, 8, 8)
    expected = Rise(masks=50)(ask(cnn(), x))
    assert_close(Rise(masks=50)(ask(cnn(), x, machine=TINY)), expected, rtol=1e-5, atol=1e-6)


def test_where_it_does_not_apply():
    with pytest.raises(NotApplicable, match="needs images, and this is table data"):
        Rise()(ask(mlp(), data(1, 6)))
    for wrong in ({"masks": 0}, {"grid": 1}, {"keep": 0.0}, {"keep": 1.1}):
        with pytest.raises(SpecError, match="cannot make masks"):
            Rise(**wrong)
