"""Methods that do not look at the model."""

from __future__ import annotations

from dataclasses import replace

import torch

from assay.core.features import Columns
from assay.core.rng import Stream
from assay.methods.constant import Constant
from assay.methods.random_map import RandomMap
from scenes import ask, cnn, data, mlp, rows


def test_a_constant_is_one_for_every_feature():
    assert torch.equal(Constant()(ask(cnn(), data(3, 2, 8, 8))), torch.ones(3, 8, 8))
    assert torch.equal(Constant()(ask(mlp(), data(2, 6), features=Columns((0, 0, 1, 1, 1, 1)))), torch.ones(2, 2))


def test_a_random_map_is_uniform():
    values = RandomMap()(ask(cnn(), data(200, 2, 8, 8))).flatten()
    assert values.shape == (12800,)
    assert 0 <= values.min() < values.max() < 1
    assert abs(values.mean() - 0.5) < 4 * (1 / 12 / 12800) ** 0.5
    counts = torch.histc(values, 16, 0, 1)
    assert ((counts - 800).square() / 800).sum() < 45  # chi-squared with 15 degrees of freedom: p = 8e-5


def test_a_random_map_belongs_to_its_sample_and_to_its_stream():
    query = ask(mlp(), data(6, 6))
    found = RandomMap()(query)
    assert torch.equal(RandomMap()(rows(query, slice(4, 6))), found[4:])
    assert len({tuple(row.tolist()) for row in found}) == 6
    assert not torch.equal(RandomMap()(replace(query, stream=Stream("test", seed=1))), found)
