from __future__ import annotations

import numpy as np
import pytest
import safetensors.torch
import sklearn
import torch
from sklearn.ensemble import RandomForestClassifier
from torch import Generator, Tensor

from assay.core.errors import AssayError
from assay.train import tree_arrays as module
from assay.train.forest import from_tensors, grow, to_tensors

X = torch.randn(200, 6, generator=Generator().manual_seed(0))
LABEL = (X[:, 0] + X[:, 1] ** 2 > 0).long() + (X[:, 2] > 1).long()
POINTS = torch.randn(500, 6, generator=Generator().manual_seed(1)).numpy()


def kept(forest: RandomForestClassifier) -> RandomForestClassifier:
    """The forest after a rest as safetensors."""
    return from_tensors(safetensors.torch.load(safetensors.torch.save(to_tensors(forest))))


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_a_forest_that_was_kept_as_tensors_predicts_the_same_bits() -> None:
    forest = grow(X, LABEL, trees=7, seed=0)
    back = kept(forest)
    assert type(back) is RandomForestClassifier
    np.testing.assert_array_equal(back.predict_proba(POINTS), forest.predict_proba(POINTS))
    np.testing.assert_array_equal(back.predict(POINTS), forest.predict(POINTS))


def test_the_trees_themselves_come_back() -> None:
    forest = grow(X, LABEL, trees=7, seed=0)
    back = kept(forest)
    np.testing.assert_array_equal(back.apply(POINTS), forest.apply(POINTS))
    np.testing.assert_array_equal(back.feature_importances_, forest.feature_importances_)
    assert [tree.get_depth() for tree in back] == [tree.get_depth() for tree in forest]
    assert same(to_tensors(back), to_tensors(forest))


def test_missing_values_go_the_way_they_went() -> None:
    holes = X.where(torch.rand(X.shape, generator=Generator().manual_seed(2)) < 0.7, torch.nan)
    forest = grow(holes, LABEL, trees=5, seed=0)
    points = np.where(POINTS > 0.8, np.nan, POINTS)
    np.testing.assert_array_equal(kept(forest).predict_proba(points), forest.predict_proba(points))
    assert bool(to_tensors(forest)["node.missing_go_to_left"].any())


def test_classes_that_are_not_counted_from_zero_keep_their_names() -> None:
    forest = grow(X, 3 * LABEL + 1, trees=5, seed=0)
    assert kept(forest).classes_.tolist() == [1, 4, 7]
    np.testing.assert_array_equal(kept(forest).predict(POINTS), forest.predict(POINTS))
    for tree, original in zip(kept(forest), forest, strict=True):  # members know classes by position
        np.testing.assert_array_equal(tree.predict(POINTS), original.predict(POINTS))


def test_a_forest_of_bare_roots_comes_back() -> None:
    forest = grow(X, torch.ones_like(LABEL), trees=2, seed=0)
    assert to_tensors(forest)["sizes"].tolist() == [1, 1]
    np.testing.assert_array_equal(kept(forest).predict(POINTS), np.ones(500))


def test_the_seed_decides_the_forest_even_where_it_is_wider_than_scikit_learn_takes() -> None:
    one = to_tensors(grow(X, LABEL, trees=3, seed=2**62 + 1))
    assert same(one, to_tensors(grow(X, LABEL, trees=3, seed=2**62 + 1)))
    assert not same(one, to_tensors(grow(X, LABEL, trees=3, seed=2)))


@pytest.mark.parametrize("step", ["keep", "read"])
def test_another_layout_of_nodes_is_refused_with_versions_and_a_way_out(
    step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    forest = grow(X, LABEL, trees=2, seed=0)
    tensors = to_tensors(forest)
    older = np.dtype([(name, module.NODE[name]) for name in module.NODE.names[:-1]], align=True)  # type: ignore[index]
    monkeypatch.setattr(module, "NODE", older)
    with pytest.raises(AssayError, match=f"scikit-learn {sklearn.__version__} .*missing_go_to_left.*Install"):
        to_tensors(forest) if step == "keep" else from_tensors(tensors)
