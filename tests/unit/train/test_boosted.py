from __future__ import annotations

import numpy as np
import pytest
import safetensors.torch
import torch
from sklearn.ensemble import GradientBoostingClassifier
from torch import Generator

from assay.train.boosted import from_tensors, grow, to_tensors

X = torch.randn(200, 6, generator=Generator().manual_seed(0))
LABEL = (X[:, 0] + X[:, 1] ** 2 > 0).long() + (X[:, 2] > 1).long()
POINTS = torch.randn(500, 6, generator=Generator().manual_seed(1)).numpy()


def kept(model: GradientBoostingClassifier) -> GradientBoostingClassifier:
    """The model after a rest as safetensors."""
    return from_tensors(safetensors.torch.load(safetensors.torch.save(to_tensors(model))))


@pytest.mark.parametrize("label", [LABEL, LABEL.clamp(max=1), 3 * LABEL + 1])
def test_boosted_trees_that_were_kept_as_tensors_predict_the_same_bits(label: torch.Tensor) -> None:
    model = grow(X, label, stages=7, seed=0)
    back = kept(model)
    assert type(back) is GradientBoostingClassifier
    assert back.classes_.tolist() == label.unique().tolist()
    for answer in ("decision_function", "predict_proba", "predict", "apply"):
        np.testing.assert_array_equal(getattr(back, answer)(POINTS), getattr(model, answer)(POINTS))


def test_they_are_kept_a_second_time_as_the_same_tensors() -> None:
    model = grow(X, LABEL, stages=3, seed=0)
    once, twice = to_tensors(model), to_tensors(kept(model))
    assert once.keys() == twice.keys()
    assert all(torch.equal(once[name], twice[name]) for name in once)
    assert kept(model).n_estimators == 3


def test_boosting_fits_the_training_rows_better_with_more_stages() -> None:
    few, many = (grow(X, LABEL, stages, seed=0).score(X.numpy(), LABEL.numpy()) for stages in (1, 30))
    assert few < many > 0.95
