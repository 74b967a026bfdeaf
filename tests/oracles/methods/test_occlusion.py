"""Occlusion, against a literal sweep and Captum."""

from __future__ import annotations

import captum.attr
import pytest
import torch
from torch.testing import assert_close

from assay.core.errors import NotApplicable, SpecError
from assay.core.features import Columns, Tokens
from assay.methods.occlusion import Occlusion
from scenes import TINY, Flat, ask, cnn, data, mlp, randomised
from streams import seeded


def literal(query, window, stride):
    """One sample, one window, one pixel at a time."""
    _, _, height, width = query.x.shape
    result = torch.zeros(len(query.x), height, width, dtype=query.x.dtype)
    tops, lefts = ([k * stride for k in range(-(-(size - window) // stride) + 1)] for size in (height, width))
    for row, target in enumerate(query.target.tolist()):
        full = query.module(query.x[row : row + 1])[0, target].item()
        drops = torch.zeros(height, width, dtype=query.x.dtype)
        count = torch.zeros(height, width, dtype=query.x.dtype)
        for top in tops:
            for left in lefts:
                changed = query.x[row : row + 1].clone()
                area = (slice(top, top + window), slice(left, left + window))
                changed[0, :, *area] = query.baseline[row, :, *area]
                drop = full - query.module(changed)[0, target].item()
                drops[area] += drop
                count[area] += 1
        result[row] = drops / count
    return result


@pytest.mark.parametrize("window, stride", [(5, 3), (3, 3), (1, 1), (8, 2), (4, 3), (3, 1)])
def test_the_map_is_the_literal_sweep(window, stride):
    query = ask(cnn().double(), data(2, 2, 8, 8).double(), "probability", baseline=0.3)
    assert_close(Occlusion(window, stride)(query), literal(query, window, stride), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("window, stride", [(5, 3), (3, 2), (8, 8)])
@pytest.mark.parametrize("height, width", [(8, 8), (9, 12)])
@seeded()
def test_the_map_is_captums(window, stride, height, width):
    body = torch.nn.Sequential(torch.nn.Conv2d(2, 3, 3), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(2))
    net = randomised(Flat(body, torch.nn.Linear(12, 3)))
    query = ask(net, data(4, 2, height, width), baseline=0.3)
    expected = captum.attr.Occlusion(net).attribute(
        query.x, (2, window, window), (2, stride, stride), query.baseline, query.target
    )
    assert_close(Occlusion(window, stride)(query), expected[:, 0], rtol=1e-6, atol=1e-6)


def test_columns_are_replaced_one_by_one():
    query = ask(mlp(), data(5, 6), "probability", baseline=0.2)
    expected = captum.attr.FeatureAblation(query.module).attribute(query.x, query.baseline, query.target)
    assert_close(Occlusion()(query), expected, rtol=1e-6, atol=1e-6)


def test_a_one_hot_block_is_replaced_as_a_whole():
    groups = (0, 1, 1, 1, 2, 2)
    query = ask(mlp(), data(5, 6), features=Columns(groups))
    mask = torch.tensor([groups])
    expected = captum.attr.FeatureAblation(query.module).attribute(
        query.x, query.baseline, query.target, feature_mask=mask
    )
    found = Occlusion()(query)
    assert found.shape == (5, 3)
    assert_close(found, expected[:, [0, 1, 4]], rtol=1e-6, atol=1e-6)


def test_a_token_is_replaced_with_its_whole_embedding():
    net = Flat(torch.nn.Identity(), mlp())
    query = ask(net, data(4, 3, 2), features=Tokens(3, 2))
    for token in range(3):
        changed = query.x.clone()
        changed[:, token] = 0
        assert_close(Occlusion()(query)[:, token], query.score(query.x) - query.score(changed), rtol=1e-5, atol=1e-6)


def test_it_needs_no_gradients_and_little_memory():
    x = data(6, 2, 8, 8)
    query = ask(cnn(), x)
    object.__setattr__(query.setting, "differentiable", False)
    assert_close(Occlusion()(ask(cnn(), x, machine=TINY)), Occlusion()(query), rtol=1e-5, atol=1e-6)


def test_windows_that_leave_pixels_out_are_refused():
    with pytest.raises(SpecError, match="1 <= stride <= window"):
        Occlusion(window=2, stride=3)
    with pytest.raises(SpecError, match="would leave pixels out"):
        Occlusion(window=2, stride=0)


def test_images_smaller_than_the_window_are_not_applicable():
    with pytest.raises(NotApplicable, match="at least 9 pixels a side, and these have 8"):
        Occlusion(window=9)(ask(cnn(), data(1, 2, 8, 8)))
