"""Feature ablation, against a literal loop and Captum."""

from __future__ import annotations

import captum.attr
import pytest
import torch
from torch.testing import assert_close

from assay.core.features import Columns, Tokens
from assay.methods.occlusion import FeatureAblation
from scenes import TINY, Flat, ask, cnn, data, mlp


def literal(query, entries_of):
    """One sample, one feature at a time; ``entries_of`` indexes the entries of each feature."""
    result = torch.zeros(len(query.x), len(entries_of), dtype=torch.float64)
    for row, target in enumerate(query.target.tolist()):
        for feature, entries in enumerate(entries_of):
            changed = query.x[row].clone()
            changed[entries] = query.baseline[row][entries]
            whole, without = (query.module(point[None])[0, target].item() for point in (query.x[row], changed))
            result[row, feature] = whole - without
    return result


def test_a_pixel_goes_with_all_its_channels():
    query = ask(cnn().double(), data(2, 2, 8, 8).double(), "probability", baseline=0.3)
    pixels = [(slice(None), place // 8, place % 8) for place in range(64)]
    assert_close(FeatureAblation()(query), literal(query, pixels).view(2, 8, 8), rtol=1e-9, atol=1e-12)
    mask = torch.arange(64).view(1, 1, 8, 8)
    expected = captum.attr.FeatureAblation(query.module).attribute(
        query.x, query.baseline, query.target, feature_mask=mask
    )
    assert_close(FeatureAblation()(query), expected[:, 0], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("groups", [(0, 1, 2, 3, 4, 5), (0, 1, 1, 1, 2, 2)])
def test_a_column_goes_with_its_whole_block(groups):
    query = ask(mlp(), data(5, 6), "probability", baseline=0.2, features=Columns(groups))
    expected = captum.attr.FeatureAblation(query.module).attribute(
        query.x, query.baseline, query.target, feature_mask=torch.tensor([groups])
    )
    first = [groups.index(feature) for feature in range(max(groups) + 1)]
    assert_close(FeatureAblation()(query), expected[:, first], rtol=1e-6, atol=1e-6)


def test_a_token_goes_with_its_whole_embedding():
    query = ask(Flat(torch.nn.Identity(), mlp()).double(), data(4, 3, 2).double(), features=Tokens(3, 2))
    assert_close(FeatureAblation()(query), literal(query, [0, 1, 2]), rtol=1e-9, atol=1e-12)


def test_little_memory_is_enough():
    x = data(6, 2, 8, 8)
    expected = FeatureAblation()(ask(cnn(), x))
    assert_close(FeatureAblation()(ask(cnn(), x, machine=TINY)), expected, rtol=1e-5, atol=1e-6)
