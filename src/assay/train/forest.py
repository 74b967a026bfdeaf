"""Random forests: grown by scikit-learn, stored as plain tensors, and restored as scikit-learn forests. No pickle.

scikit-learn is imported where it is used: importing it takes a second.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from assay.train.tree_arrays import trees_from_tensors, trees_to_tensors

if TYPE_CHECKING:
    from sklearn.ensemble import RandomForestClassifier


def grow(x: Tensor, label: Tensor, trees: int, seed: int) -> RandomForestClassifier:
    """A forest with scikit-learn's defaults, on one core."""
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(n_estimators=trees, random_state=seed % 2**32, n_jobs=1)
    return forest.fit(x.cpu().numpy(), label.cpu().numpy())


def to_tensors(forest: RandomForestClassifier) -> dict[str, Tensor]:
    """Everything that prediction needs. Needs whole-number classes and one label per row."""
    classes = torch.from_numpy(forest.classes_.astype(np.int64))
    return {**trees_to_tensors([member.tree_ for member in forest.estimators_]), "classes": classes}


def from_tensors(tensors: Mapping[str, Tensor]) -> RandomForestClassifier:
    """A forest that predicts bit for bit like the stored one; the settings it was grown with are lost."""
    from sklearn.ensemble import RandomForestClassifier

    classes, columns = tensors["classes"].cpu().numpy(), int(tensors["columns"])
    trees = trees_from_tensors(tensors)
    forest = RandomForestClassifier(n_estimators=len(trees), n_jobs=1)
    forest.estimators_ = [_member(tree, len(classes), columns) for tree in trees]
    return _fitted(forest, columns, classes)


def _member(tree: Any, classes: int, columns: int) -> Any:
    from sklearn.tree import DecisionTreeClassifier

    member = DecisionTreeClassifier()
    member.tree_ = tree
    return _fitted(member, columns, np.arange(classes, dtype=float))  # members number classes from 0


def _fitted(model: Any, columns: int, classes: NDArray[Any]) -> Any:
    """Set the attributes that ``fit`` sets on a forest and on its trees."""
    model.classes_, model.n_classes_, model.n_outputs_ = classes, len(classes), 1
    model.n_features_in_ = columns
    return model
