"""Frequency filters, against a sum over waves written out one by one."""

from __future__ import annotations

from cmath import exp
from math import hypot, pi

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from assay.core.errors import NotApplicable, SpecError
from assay.methods.frequency_filter import FrequencyFilter
from scenes import Flat, ask, data, mlp
from streams import seeded

STAYS = {
    "low": lambda radius: radius < 0.4,
    "high": lambda radius: radius > 0.6,
    "band": lambda radius: 0.3 < radius < 0.6,
}


@seeded()
def question(x):
    model = Flat(torch.nn.Identity(), torch.nn.Linear(x[0].numel(), 2)).to(x.dtype)
    return ask(model, x)


def place(index, size, form):
    """Where a wave with ``index`` turns lies on the axis: in the study, by its place in the shifted spectrum."""
    turns = index if index < (size + 1) // 2 else index - size
    return -1 + 2 * (turns + size // 2) / (size - 1) if form == "faithful" else 2 * turns / size


def literal(image, stays, form):
    """One wave at a time: its share of the image, added where its radius stays."""
    gray = 0.2989 * image[0] + 0.5870 * image[1] + 0.1140 * image[2] if len(image) == 3 else image.mean(axis=0)
    height, width = gray.shape
    result = np.zeros((height, width), dtype=complex)
    rows, columns = np.arange(height)[:, None], np.arange(width)
    turn = np.vectorize(exp)
    for down in range(height):
        for across in range(width):
            if stays(hypot(place(down, height, form), place(across, width, form))):
                wave = turn(2j * pi * (down * rows / height + across * columns / width))
                result += (gray * wave.conj()).sum() / gray.size * wave
    real = result.real
    if form == "corrected":
        assert abs(result.imag).max() < 1e-12
        return abs(real)
    return (real - real.min()) / (real.max() - real.min() + 1e-8)


@pytest.mark.parametrize("form", ["faithful", "corrected"])
@pytest.mark.parametrize("band", ["low", "high", "band"])
@pytest.mark.parametrize("channels, height, width", [(3, 8, 8), (3, 7, 12), (2, 9, 9)])
def test_the_map_is_the_literal_sum(channels, height, width, band, form):
    x = 1 + data(2, channels, height, width).double()
    expected = torch.from_numpy(np.stack([literal(image, STAYS[band], form) for image in x.numpy()]))
    assert_close(FrequencyFilter(band=band, form=form)(question(x)), expected, rtol=1e-9, atol=1e-12)


def test_the_cut_offs_are_the_user_s():
    x = data(1, 3, 8, 10).double()
    for method, stays in (
        (FrequencyFilter("low", below=0.9), lambda radius: radius < 0.9),
        (FrequencyFilter("high", above=0.2), lambda radius: radius > 0.2),
        (FrequencyFilter("band", above=0.1, below=1.1), lambda radius: 0.1 < radius < 1.1),
    ):
        expected = torch.from_numpy(literal(x[0].numpy(), stays, "corrected"))
        assert_close(method(question(x))[0], expected, rtol=1e-9, atol=1e-12)


def test_stripes_of_one_pixel_are_high_and_a_flat_image_is_low():
    stripes = torch.tensor([1.0, -1.0]).double().repeat(4).expand(1, 1, 8, 8).clone()
    flat = torch.ones(1, 1, 8, 8).double()
    for x, band in ((stripes, "high"), (flat, "low")):
        for name in STAYS:
            expected = torch.full((1, 8, 8), float(name == band), dtype=torch.float64)
            assert_close(FrequencyFilter(name)(question(x)), expected, rtol=1e-9, atol=1e-12)
    for name in STAYS:
        assert FrequencyFilter(name, form="faithful")(question(flat)).abs().max() < 1e-6


def test_where_it_does_not_apply():
    with pytest.raises(NotApplicable, match="needs an image, and this is table data"):
        FrequencyFilter()(ask(mlp(), data(1, 6)))
    for wrong in ({"band": "low", "above": 0.1}, {"band": "high", "below": 0.9}, {"band": "band", "above": 0.7}):
        with pytest.raises(SpecError, match="do not fit together"):
            FrequencyFilter(**wrong)
