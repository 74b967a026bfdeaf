"""Gradient-boosted trees: grown by scikit-learn, stored as plain tensors, and restored. No pickle.

``GradientBoostingClassifier``, because its trees are public attributes; those of the faster histogram version are not.
scikit-learn is imported where it is used: importing it takes a second.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from assay.train.tree_arrays import trees_from_tensors, trees_to_tensors

if TYPE_CHECKING:
    from sklearn.ensemble import GradientBoostingClassifier


def grow(x: Tensor, label: Tensor, stages: int, seed: int) -> GradientBoostingClassifier:
    """Boosted trees with scikit-learn's defaults, except that scores start at 0 and not at the classes' log-odds.

    A stage is one tree for every class; one tree if there are two classes.
    """
    return _untrained(stages, seed % 2**32).fit(x.cpu().numpy(), label.cpu().numpy())


def to_tensors(model: GradientBoostingClassifier) -> dict[str, Tensor]:
    """Everything that prediction needs. Needs whole-number classes."""
    classes = torch.from_numpy(model.classes_.astype(np.int64))
    return {**trees_to_tensors([member.tree_ for member in model.estimators_.flat]), "classes": classes}


def from_tensors(tensors: Mapping[str, Tensor]) -> GradientBoostingClassifier:
    """A model that predicts bit for bit like the stored one.

    It is first fitted on one row of each class, which sets all that does not depend on rows, and then gets the trees.
    """
    classes, trees = tensors["classes"].cpu().numpy(), trees_from_tensors(tensors)
    model = _untrained(1, 0).fit(np.zeros((len(classes), int(tensors["columns"]))), classes)
    members = np.array([_member(model.estimators_[0, 0], tree) for tree in trees], dtype=object)
    model.estimators_ = members.reshape(-1, model.estimators_.shape[1])
    return model.set_params(n_estimators=len(model.estimators_))


def _untrained(stages: int, seed: int) -> GradientBoostingClassifier:
    from sklearn.ensemble import GradientBoostingClassifier

    return GradientBoostingClassifier(n_estimators=stages, init="zero", random_state=seed)


def _member(like: Any, tree: Any) -> Any:
    from sklearn.tree import DecisionTreeRegressor

    member = DecisionTreeRegressor()
    member.tree_, member.n_features_in_, member.n_outputs_ = tree, like.n_features_in_, like.n_outputs_
    return member
