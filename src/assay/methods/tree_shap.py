"""TreeSHAP (Lundberg et al., 2020), by the shap package."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from assay.core.errors import AssayError, NotApplicable, SpecError
from assay.core.query import Query
from assay.methods._background import background

Array = NDArray[Any]


@dataclass(frozen=True)
class TreeShap:
    """Exact Shapley values of trees and forests, without evaluating all coalitions; shap's TreeExplainer computes them.

    v(S) is the expected score when only the features in S are known. Without a background, a split on an unknown
    feature takes both branches, weighted by the number of training rows that went there (path-dependent). With a
    background, unknown features are replaced by those of that many reference rows, one after the other
    (interventional), and v(S) is the mean. Attributions sum to score(x) - v(none), which is checked. Boosted
    classifiers add up scores, log-odds. Where the model answers with these, they are explained (for scikit-learn's
    GradientBoostingClassifier: if they start at 0). Probabilities of boosted trees need two classes and a background,
    and are not exact, because shap scales the log-odds' values, reference by reference, to the difference of
    probabilities. A category that the trees read as one column gets one value. Needs no gradients; needs an estimator
    in scikit-learn's manner, or a Booster of XGBoost or LightGBM.
    """

    background: int = 0  # how many reference rows replace unknown features; 0: the training rows in the trees

    paper: ClassVar[str] = "Lundberg et al., 2020"

    def __post_init__(self) -> None:
        if self.background < 0:
            raise SpecError(f"tree_shap: background counts rows, so it cannot be {self.background}. Choose 0 or more.")

    @property
    def fit(self) -> Callable[[Query], dict[str, Tensor]]:
        """Draws the background; absent without a background, so that no reference data is needed."""
        if not self.background:
            raise AttributeError("tree_shap without a background fits nothing")
        return partial(background, count=self.background)

    def promised(self, query: Query) -> Tensor:
        explainer, model = self._explainer(query), query.setting.model
        _shap_values(explainer, _table(model, query.x[:1]))  # of some packages' trees, v(none) is known only then
        expected = torch.from_numpy(_expected(explainer, model)).to(query.x)
        return query.score(query.x) - expected[query.target]

    def __call__(self, query: Query) -> Tensor:
        explainer, model, target = self._explainer(query), query.setting.model, query.target.cpu().numpy()
        per_class = _values(explainer, model, _table(model, query.x))
        if per_class.shape[2] <= target.max():
            raise NotApplicable(f"needs values of every class from shap, and it gives those of {per_class.shape[2]}")
        values = per_class[np.arange(len(target)), :, target]
        _check_sum(
            query.score(query.x).double().cpu().numpy(), values.sum(axis=1) + _expected(explainer, model)[target]
        )
        is_entries = values.shape[1] == query.x[0].numel()  # else a feature is a column, encoded in several entries
        shape = query.x.shape if is_entries else (len(values), *query.setting.features.shape)
        return torch.from_numpy(values).to(query.x).reshape(shape)

    def _explainer(self, query: Query) -> Any:
        estimator: Any = getattr(query.setting.model, "estimator", None)
        if estimator is None:
            raise NotApplicable("needs trees in scikit-learn's manner, and this model is none")
        shap = _import_shap()
        options: dict[str, Any] = {"feature_perturbation": "tree_path_dependent"}
        trees: Any = getattr(estimator, "trees", estimator)  # of a Booster that was made an estimator
        try:
            if self.background:
                rows = _table(query.setting.model, query.fitted["background"])
                masker = shap.maskers.Independent(rows, max_samples=len(rows))  # its default is 100 rows
                output = "probability" if _has_probabilities(query.setting.model) else "raw"
                options = {"data": masker, "feature_perturbation": "interventional", "model_output": output}
            return shap.TreeExplainer(_score_trees(query.setting.model) or trees, **options)
        except Exception as error:  # shap raises plain ones, too
            name = type(trees).__name__
            raise NotApplicable(f"needs trees that shap supports, and of {name} it says: {error}") from None


def _import_shap() -> Any:
    """Import shap without its warnings, and restore Python's random state, which the import changes."""
    random_state = random.getstate()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return import_module("shap")
    except ImportError:
        raise AssayError("tree_shap needs shap: pip install 'assay-xai[trees]'.") from None
    finally:
        random.setstate(random_state)


def _has_probabilities(model: Any) -> bool:
    return hasattr(model.estimator, "predict_proba") and getattr(model, "answer", "") != "decision_function"


def _score_trees(model: Any) -> dict[str, Any] | None:
    """Boosted trees of scikit-learn that add up scores from 0, in shap's notation; shap itself reads two classes only.
    None for other models.

    The trees of a stage are one for each class, so each has a value in its class's column.
    """
    estimator: Any = model.estimator
    if _has_probabilities(model) or str(getattr(estimator, "init_", "")) != "zero":
        return None
    count = estimator.estimators_.shape[1]
    weights = estimator.learning_rate * (np.array([[-0.5, 0.5]]) if count == 1 else np.eye(count))
    trees = [
        _shap_tree(member.tree_, row)
        for stage in estimator.estimators_
        for member, row in zip(stage, weights, strict=True)
    ]
    return {"trees": trees, "tree_output": "raw_value", "input_dtype": np.float32}


def _shap_tree(tree: Any, weights: Array) -> dict[str, Array]:
    """A tree whose values are those of ``tree`` times one weight for each class."""
    return {
        "children_left": tree.children_left,
        "children_right": tree.children_right,
        "children_default": tree.children_left,
        "features": tree.feature,
        "thresholds": tree.threshold,
        "values": tree.value[:, 0] * weights,
        "node_sample_weight": tree.weighted_n_node_samples,
    }


def _table(model: Any, rows: Tensor) -> Any:
    """What the trees read: an array, or a frame where these are no entries."""
    given = getattr(model, "given", None)
    return rows.detach().flatten(1).cpu().numpy() if given is None else given(rows)


def _values(explainer: Any, model: Any, rows: Any) -> Array:
    """Shapley values of every class: (B, entries, classes)."""
    values = _shap_values(explainer, rows)
    values = values[..., None] if values.ndim == 2 else values
    if _one_of_two(values, model):
        values = np.concatenate([-values, values], axis=-1) / (1 if _has_probabilities(model) else 2)
    return _per_class(values, model)


def _shap_values(explainer: Any, rows: Any) -> Array:
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # about what earlier versions returned
        return np.asarray(explainer.shap_values(rows, check_additivity=False))


def _expected(explainer: Any, model: Any) -> Array:
    """v(none) of every class."""
    expected = np.atleast_1d(np.asarray(explainer.expected_value, dtype=float))
    if _one_of_two(expected, model):
        second = expected if _has_probabilities(model) else expected / 2
        expected = np.concatenate([1 - second if _has_probabilities(model) else -second, second])
    return _per_class(expected, model)


def _one_of_two(values: Array, model: Any) -> bool:
    """True if shap returns only the second of two classes."""
    return values.shape[-1] == 1 and len(getattr(model.estimator, "classes_", ())) == 2


def _per_class(values: Array, model: Any) -> Array:
    """A column for every label, also for labels that no tree has seen."""
    if getattr(model, "classes", None) is None:
        return values
    columns = np.zeros((*values.shape[:-1], model.classes))
    columns[..., model.estimator.classes_.astype(int)] = values
    return columns


def _check_sum(score: Array, total: Array) -> None:
    """NotApplicable unless the values sum to the score."""
    if not np.allclose(total, score, rtol=1e-4, atol=1e-4):
        raise NotApplicable(
            "needs trees whose outputs add up to the score, and these add up to something else, such as log-odds "
            "(with a background, shap can explain the probabilities of two classes)"
        )
