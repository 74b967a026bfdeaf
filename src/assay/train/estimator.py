"""Estimators in scikit-learn's manner as modules, so that questions can be put to them like to any network."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from assay.core.errors import AssayError

ANSWERS = ("predict_proba", "decision_function", "predict")


class Estimator(nn.Module):
    """A fitted estimator: (N, *entries) -> (N, outputs), on the input's device and in its number format, no gradients.

    The first of these that the estimator has is the output:

    - ``predict_proba``: a probability per class. They are probabilities already: ask with readout "value".
    - ``decision_function``: a score per class; two classes get (-score, score).
    - ``predict`` of a classifier (it has ``classes_``): 1 for the class it names, 0 for the others.
    - ``predict`` of anything else: the prediction; one number per row becomes (N, 1).

    Column c speaks for ``estimator.classes_[c]``. Where labels are whole numbers and a class may be missing from the
    training rows, give the number of ``classes``: column c is then label c, and a missing class has probability 0.
    """

    def __init__(self, estimator: Any, classes: int | None = None) -> None:
        super().__init__()
        if not any(hasattr(estimator, name) for name in ANSWERS):
            raise AssayError(f"{type(estimator).__name__} is no estimator: it has none of {', '.join(ANSWERS)}.")
        self.estimator = estimator
        self.classes = classes
        self.eval()  # it is fitted, and never in training

    def forward(self, x: Tensor) -> Tensor:
        outputs = _outputs(self.estimator, _table(self.estimator, x))
        if self.classes is not None:
            outputs = _spread(self.estimator, outputs, self.classes)
        return torch.as_tensor(outputs, dtype=x.dtype, device=x.device)

    def extra_repr(self) -> str:
        return type(self.estimator).__name__


def _table(estimator: Any, x: Tensor) -> Any:
    """Rows as the estimator knows them: one that was fitted on named columns gets them back."""
    rows = x.detach().flatten(1).cpu().numpy()
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        return rows
    return import_module("pandas").DataFrame(rows, columns=names)  # imported here: few need it, and it is slow


def _outputs(estimator: Any, rows: Any) -> NDArray[Any]:
    if hasattr(estimator, "predict_proba"):
        return _matrix(estimator, estimator.predict_proba(rows))
    classes = getattr(estimator, "classes_", None)
    if hasattr(estimator, "decision_function"):
        scores = _matrix(estimator, estimator.decision_function(rows))
        return scores if classes is None else _per_class(estimator, scores)
    predicted = _matrix(estimator, estimator.predict(rows))
    return predicted if classes is None else (predicted == classes).astype(float)


def _matrix(estimator: Any, answer: Any) -> NDArray[Any]:
    """(N,) or (N, outputs) -> (N, outputs)."""
    if isinstance(answer, list):  # scikit-learn's way of saying that there are several labels per row
        raise AssayError(f"{type(estimator).__name__} predicts {len(answer)} labels per row: explain one at a time.")
    matrix = np.asarray(answer)
    return matrix[:, None] if matrix.ndim == 1 else matrix


def _per_class(estimator: Any, scores: NDArray[Any]) -> NDArray[Any]:
    count = len(estimator.classes_)
    if count == 2:
        return np.concatenate([-scores, scores], axis=1)
    # With three classes there are as many pairs as classes: the shape alone does not tell.
    if scores.shape[1] != count or getattr(estimator, "decision_function_shape", "ovr") == "ovo":
        name = type(estimator).__name__
        raise AssayError(f"{name} scores pairs of classes, not classes: fit it with decision_function_shape='ovr'.")
    return scores


def _spread(estimator: Any, outputs: NDArray[Any], classes: int) -> NDArray[Any]:
    """Columns of the classes that were seen in training, to columns of all classes."""
    if not hasattr(estimator, "predict_proba") and len(estimator.classes_) != classes:
        raise AssayError(f"{type(estimator).__name__} saw {len(estimator.classes_)} of {classes} classes in training.")
    spread = np.zeros((len(outputs), classes))
    spread[:, estimator.classes_.astype(int)] = outputs
    return spread
