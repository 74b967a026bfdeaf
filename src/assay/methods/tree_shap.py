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
    """Exact Shapley values of trees and forests, without asking all coalitions; shap's TreeExplainer computes them.

    v(S) is the score expected when only the features in S are known. Without a background, a split on an unknown
    feature is left both ways, each counting as often as training rows went there (path-dependent). With a background,
    unknown features are those of that many reference rows, one after the other (interventional), and v(S) is the mean.
    Attributions sum to score(x) - v(none), which is checked. Boosted classifiers add up log-odds: their probabilities
    need two classes and a background, and are no longer exact, because shap scales the log-odds' values, reference by
    reference, to the difference of probabilities. Needs no gradients; needs an estimator in scikit-learn's manner.
    """

    background: int = 0  # how many reference rows stand for unknown features; 0: the training rows in the trees

    paper: ClassVar[str] = "Lundberg et al., 2020"

    def __post_init__(self) -> None:
        if self.background < 0:
            raise SpecError(f"tree_shap: background counts rows, so it cannot be {self.background}. Choose 0 or more.")

    @property
    def fit(self) -> Callable[[Query], dict[str, Tensor]]:
        """Draws the background; absent without one, so that no reference data is needed."""
        if not self.background:
            raise AttributeError("tree_shap without a background fits nothing")
        return partial(background, count=self.background)

    def promised(self, query: Query) -> Tensor:
        start = torch.from_numpy(_start(self._explainer(query), query.setting.model)).to(query.x)
        return query.score(query.x) - start[query.target]

    def __call__(self, query: Query) -> Tensor:
        explainer, model, target = self._explainer(query), query.setting.model, query.target.cpu().numpy()
        values = _values(explainer, model, _table(query.x))[np.arange(len(target)), :, target]
        _check(query.score(query.x).double().cpu().numpy(), values.sum(axis=1) + _start(explainer, model)[target])
        return torch.from_numpy(values).to(query.x).reshape(query.x.shape)

    def _explainer(self, query: Query) -> Any:
        estimator: Any = getattr(query.setting.model, "estimator", None)
        if estimator is None:
            raise NotApplicable("needs trees in scikit-learn's manner, and this model is none")
        shap = _shap()
        options: dict[str, Any] = {"feature_perturbation": "tree_path_dependent"}
        if self.background:
            rows = _table(query.fitted["background"])
            every = shap.maskers.Independent(rows, max_samples=len(rows))  # left alone, it takes 100 of them
            output = "probability" if hasattr(estimator, "predict_proba") else "raw"
            options = {"data": every, "feature_perturbation": "interventional", "model_output": output}
        try:
            return shap.TreeExplainer(estimator, **options)
        except (shap.utils._exceptions.InvalidModelError, NotImplementedError) as error:
            name = type(estimator).__name__
            raise NotApplicable(f"needs trees that shap knows, and of {name} it says: {error}") from None


def _shap() -> Any:
    """The package; its import warns about others and moves Python's random numbers, neither of which concerns us."""
    state = random.getstate()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return import_module("shap")
    except ImportError:
        raise AssayError("tree_shap needs shap: pip install 'assay-xai[trees]'.") from None
    finally:
        random.setstate(state)


def _table(rows: Tensor) -> Array:
    table: Array = rows.detach().flatten(1).cpu().numpy()
    return table


def _values(explainer: Any, model: Any, rows: Array) -> Array:
    """Of every class: (B, entries, classes)."""
    values = np.asarray(explainer.shap_values(rows, check_additivity=False))
    values = values[..., None] if values.ndim == 2 else values
    return _per_class(np.concatenate([-values, values], axis=-1) if _doubles(values, model) else values, model)


def _start(explainer: Any, model: Any) -> Array:
    """What the values of every class start from: v(none)."""
    start = np.atleast_1d(np.asarray(explainer.expected_value, dtype=float))
    return _per_class(np.concatenate([1 - start, start]) if _doubles(start, model) else start, model)


def _doubles(part: Array, model: Any) -> bool:
    """Does shap tell the second of two classes only?"""
    return part.shape[-1] == 1 and len(getattr(model.estimator, "classes_", ())) == 2


def _per_class(part: Array, model: Any) -> Array:
    """A column for every label, also for those that no tree has seen."""
    if getattr(model, "classes", None) is None:
        return part
    spread = np.zeros((*part.shape[:-1], model.classes))
    spread[..., model.estimator.classes_.astype(int)] = part
    return spread


def _check(score: Array, total: Array) -> None:
    """Do the values speak of the score?"""
    if not np.allclose(total, score, rtol=1e-4, atol=1e-4):
        raise NotApplicable(
            "needs trees whose outputs add up to the score, and these add up to something else, such as log-odds "
            "(with a background, shap can explain the probabilities of two classes)"
        )
