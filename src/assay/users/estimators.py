"""Fitted estimators of scikit-learn, XGBoost, LightGBM, CatBoost, AutoGluon, and whatever has their interface."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from assay.core.errors import AssayError, SpecError, suggest
from assay.foreign import models
from assay.foreign.inputs import one_line
from assay.train.estimator import ANSWERS, Estimator
from assay.users.boosted import as_usual, booster, is_booster
from assay.users.passing import FRAMES, type_name
from assay.users.rows import Rows
from assay.users.taken import Outputs

VALUES = ("regression", "quantile")  # AutoGluon's problem types without classes


@dataclass(frozen=True, eq=False)
class Classified:
    """A classifier that does not say which classes it has: its probabilities do."""

    predictor: Any
    classes_: NDArray[Any]

    def predict_proba(self, rows: Any) -> NDArray[Any]:
        found = np.asarray(self.predictor.predict_proba(rows))
        if found.ndim == 2 and found.shape[1] > 1:
            return found
        return np.stack([1 - found.ravel(), found.ravel()], axis=1)


@dataclass(frozen=True, eq=False)
class Valued:
    """Predicts a value, and is asked for nothing else."""

    predictor: Any

    def predict(self, rows: Any) -> Any:
        return self.predictor.predict(rows)


def is_estimator(model: Any) -> bool:
    """Whether a model answers in scikit-learn's manner."""
    return not isinstance(model, nn.Module | type) and any(hasattr(model, name) for name in ANSWERS)


def as_estimator(model: Any, rows: Rows, outputs: Outputs | None) -> tuple[Estimator, str]:
    """The module of a fitted estimator, and words about how rows reach it."""
    estimator = booster(model) if is_booster(model) else as_usual(model, margins=outputs == "logits")
    name, errors = type(model).__name__, list[Exception]()
    for given, words in _tables(estimator, rows):
        try:
            return _asked(estimator, given, rows.x[: models.ROWS], outputs), words
        except AssayError:
            raise
        except Exception as error:  # of any package
            if type(error).__name__ == "NotFittedError":
                raise SpecError(f"the {name} is not fitted: call its fit(x, y), then give it.") from error
            errors.append(error)
    shape = tuple(rows.x.shape[1:])
    raise SpecError(
        f"{name} cannot read the rows (entries {shape}): {one_line(errors[0])}. It reads what it was fitted on: give "
        "x in the same columns and formats."
    ) from errors[0]


def class_names(estimator: Any) -> tuple[str, ...]:
    """The classes of a fitted classifier, in the order of its outputs."""
    return tuple(map(str, getattr(estimator, "classes_", ())))


def _asked(estimator: Any, given: Callable[[Tensor], Any] | None, x: Tensor, outputs: Outputs | None) -> Estimator:
    """The estimator, if it reads the rows."""
    if not hasattr(estimator, "classes_"):
        read = given or Estimator(estimator).table
        estimator = _without_classes(estimator, read(x), outputs)
    scores = outputs == "logits" and hasattr(estimator, "decision_function")
    module = Estimator(estimator, scores=scores, given=given)
    module(x)
    return module


def _without_classes(estimator: Any, rows: Any, outputs: Outputs | None) -> Any:
    """An estimator that says nothing about classes, with the classes of its probabilities; else as it is."""
    if getattr(estimator, "problem_type", None) in VALUES:
        return Valued(estimator)
    if hasattr(estimator, "predict_proba"):
        found = estimator.predict_proba(rows)
        count = max(np.asarray(found).reshape(len(found), -1).shape[1], 2)
        names: Sequence[Any] = getattr(found, "columns", range(count))
        return Classified(estimator, np.array(names, dtype=object))
    if not hasattr(estimator, "decision_function") and outputs != "value":
        _check_values(type(estimator).__name__, np.asarray(estimator.predict(rows)))
    return estimator


def _check_values(name: str, found: NDArray[Any]) -> None:
    if found.dtype.kind in "iub":
        raise SpecError(
            f"{name} predicts whole numbers and has no predict_proba: are they classes or clusters? "
            "outputs='value' (--outputs value) explains them as a value; forward=lambda model, x: ... gives scores."
        )
    if found.dtype.kind != "f":
        raise SpecError(
            f"{name} predicts text and has no predict_proba: scores or probabilities are needed. "
            "forward=lambda model, x: ... gives them."
        )


def _tables(estimator: Any, rows: Rows) -> Iterator[tuple[Callable[[Tensor], Any] | None, str]]:
    """What the estimator may read, the likeliest first, each with words about it."""
    if rows.given is None:
        yield None, ""
        return
    given = rows.given(rows.x[:1])
    names = getattr(estimator, "feature_names_in_", None)
    if type_name(given) != FRAMES:
        yield rows.given, f"as {type_name(given)}"
    elif names is not None:
        yield _columns(rows.given, list(names), list(given.columns))
    else:
        frame, array = (rows.given, "as a frame"), (_Array(rows.given), "as an array")
        yield from (array, frame) if hasattr(estimator, "n_features_in_") else (frame, array)


def _columns(given: Callable[[Tensor], Any], names: list[Any], found: list[Any]) -> tuple[Callable[[Tensor], Any], str]:
    """The columns on which the estimator was fitted, in its order."""
    lacking = [name for name in names if name not in found]
    if lacking:
        raise SpecError(
            f"the model was fitted on columns that x does not have: {', '.join(map(str, lacking[:5]))}"
            f"{', ...' if len(lacking) > 5 else ''}.{suggest(str(lacking[0]), map(str, found))} "
            f"x has {', '.join(map(str, found[:10]))}{', ...' if len(found) > 10 else ''}."
        )
    extra = [str(name) for name in found if name not in names]
    words = "as a frame" + (f" without {', '.join(extra)}, which it does not read" if extra else "")
    return (given if names == found else _Columns(given, tuple(names))), words


@dataclass(frozen=True, eq=False)
class _Columns:
    """Some columns of a frame."""

    given: Callable[[Tensor], Any]
    names: tuple[Any, ...]

    def __call__(self, x: Tensor) -> Any:
        return self.given(x)[list(self.names)]


@dataclass(frozen=True, eq=False)
class _Array:
    """The values of a frame."""

    given: Callable[[Tensor], Any]

    def __call__(self, x: Tensor) -> Any:
        return self.given(x).to_numpy()


def reads_missing(model: Any, given: Any) -> bool:
    """Whether an estimator answers rows that it is given with finite numbers."""
    model = booster(model) if is_booster(model) else model
    answer = next(getattr(model, name) for name in ANSWERS if hasattr(model, name))
    names = getattr(model, "feature_names_in_", None)
    try:
        found = np.asarray(answer(given if names is None or type_name(given) != FRAMES else given[list(names)]))
    except Exception:  # of any package
        return False
    return found.dtype.kind not in "fc" or bool(torch.from_numpy(found.astype(float)).isfinite().all())
