"""The constant control."""

from __future__ import annotations

import torch

from assay.core.features import Columns
from assay.methods.content_free import Constant
from scenes import ask, cnn, data, mlp


def test_a_constant_is_one_for_every_feature():
    assert torch.equal(Constant()(ask(cnn(), data(3, 2, 8, 8))), torch.ones(3, 8, 8))
    assert torch.equal(Constant()(ask(mlp(), data(2, 6), features=Columns((0, 0, 1, 1, 1, 1)))), torch.ones(2, 2))
