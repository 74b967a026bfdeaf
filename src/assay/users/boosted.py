"""Gradient boosting of XGBoost, LightGBM and CatBoost in scikit-learn's interface. None of these packages is needed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ask = Callable[[Any], Any]

MARGINS: dict[str, dict[str, Any]] = {  # what asks an estimator of this package for the sums of its trees
    "xgboost": {"output_margin": True},
    "lightgbm": {"raw_score": True},
    "catboost": {"prediction_type": "RawFormulaVal"},
}


@dataclass(frozen=True, eq=False)
class BoostedClasses:
    """A boosted classifier: probabilities, and margins (sums of trees) as scores."""

    trees: Any  # the package's object
    classes_: NDArray[Any]
    decision_function: Ask
    predict_proba: Ask
    feature_names_in_: NDArray[Any] | None = None


@dataclass(frozen=True, eq=False)
class BoostedValue:
    """A boosted model of a value."""

    trees: Any
    predict: Ask
    feature_names_in_: NDArray[Any] | None = None


def package(model: Any) -> str:
    """The package that defines a model's class, or the first of its parents outside the user's code."""
    names = [parent.__module__.partition(".")[0] for parent in type(model).__mro__]
    return next((name for name in names if name in MARGINS), names[0])


def is_booster(model: Any) -> bool:
    """Whether a model is a Booster of XGBoost or LightGBM, which is no estimator."""
    return package(model) in ("xgboost", "lightgbm") and any(part.__name__ == "Booster" for part in type(model).__mro__)


def booster(model: Any) -> BoostedClasses | BoostedValue:
    """A Booster as an estimator."""
    return _xgboost(model) if package(model) == "xgboost" else _lightgbm(model)


def as_usual(model: Any, margins: bool) -> Any:
    """A boosted estimator as scikit-learn would have it: CatBoost's regressors have no classes; with ``margins``,
    classifiers have these as scores. Any other estimator unchanged."""
    options, classes = MARGINS.get(package(model)), getattr(model, "classes_", None)
    if options is None or classes is None:
        return model
    names = getattr(model, "feature_names_in_", None)
    if len(classes) == 0:
        return BoostedValue(model, model.predict, names)
    if not margins:
        return model
    return BoostedClasses(model, classes, partial(model.predict, **options), model.predict_proba, names)


def _xgboost(model: Any) -> BoostedClasses | BoostedValue:
    learner = json.loads(model.save_config())["learner"]
    objective, count = learner["objective"]["name"], int(learner["learner_model_param"]["num_class"])
    names = None if model.feature_names is None else np.array(model.feature_names, dtype=object)
    margins, answers = partial(_ask_xgboost, model, True), partial(_ask_xgboost, model, False)
    if objective in ("binary:logistic", "binary:logitraw"):
        probabilities = answers if objective == "binary:logistic" else lambda rows: _sigmoid(margins(rows))
        return BoostedClasses(model, np.arange(2), margins, lambda rows: _pair(probabilities(rows)), names)
    if objective.startswith("multi:"):
        return BoostedClasses(model, np.arange(count), margins, lambda rows: _softmax(margins(rows)), names)
    hinge = objective == "binary:hinge"  # its answers are 0 and 1
    return BoostedValue(model, margins if hinge else answers, names)


def _ask_xgboost(model: Any, margins: bool, rows: Any) -> Any:
    xgboost = import_module("xgboost")
    names = None if hasattr(rows, "columns") else model.feature_names
    matrix = xgboost.DMatrix(rows, feature_names=names, enable_categorical=True)
    return model.predict(matrix, output_margin=margins)


def _lightgbm(model: Any) -> BoostedClasses | BoostedValue:
    lines = model.model_to_string(num_iteration=1).splitlines()
    header = dict(line.split("=", 1) for line in lines if "=" in line)
    objective, count = header.get("objective", "").split(" ")[0], int(header["num_class"])
    columns = model.feature_name()
    unnamed = columns == [f"Column_{index}" for index in range(len(columns))]
    names = None if unnamed else np.array(columns, dtype=object)
    margins = partial(model.predict, raw_score=True)
    if objective == "binary":
        return BoostedClasses(model, np.arange(2), margins, lambda rows: _pair(model.predict(rows)), names)
    if objective in ("multiclass", "multiclassova"):
        return BoostedClasses(model, np.arange(count), margins, model.predict, names)
    return BoostedValue(model, model.predict, names)


def _pair(probabilities: Any) -> NDArray[Any]:
    """(N,) of the second class -> (N, 2)."""
    return np.stack([1 - probabilities, probabilities], axis=1)


def _sigmoid(margins: Any) -> NDArray[Any]:
    from scipy.special import expit  # imported here: slow, and rarely needed

    found: NDArray[Any] = expit(margins)
    return found


def _softmax(margins: Any) -> NDArray[Any]:
    from scipy.special import softmax

    found: NDArray[Any] = softmax(margins, axis=1)
    return found
