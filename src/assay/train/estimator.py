"""Estimators with scikit-learn's interface as torch modules, so that they answer questions like any network."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from assay.core.errors import AssayError

ANSWERS = ("predict_proba", "decision_function", "predict")


class Estimator(nn.Module):
    """A fitted estimator: (N, *entries) -> (N, outputs), on the input's device and in its number format, no gradients.

    The output is the first of these that the estimator has:

    - ``predict_proba``: a probability per class.
    - ``decision_function``: a score per class; two classes get (-score / 2, score / 2), whose difference is the score.
    - ``predict`` of a classifier (it has ``classes_``): 1 for the predicted class, 0 for the others.
    - ``predict`` of anything else: the prediction; one number per row becomes (N, 1).

    Column c is for ``estimator.classes_[c]``. If labels are whole numbers and a class may be missing from the training
    rows, give the number of ``classes``: column c is then for label c, and a missing class has probability 0.

    ``scores`` passes over ``predict_proba``: boosted trees add up scores, whose softmax the probabilities are.
    ``given`` makes what the estimator reads of entries; without it, these are an array, or a frame if the estimator was
    fitted on named columns.
    """

    def __init__(
        self,
        estimator: Any,
        classes: int | None = None,
        scores: bool = False,
        given: Callable[[Tensor], Any] | None = None,
    ) -> None:
        super().__init__()
        answers = [name for name in ANSWERS[scores:] if hasattr(estimator, name)]
        if not answers:
            raise AssayError(f"{type(estimator).__name__} is no estimator: it has none of {', '.join(ANSWERS)}.")
        self.estimator = estimator
        self.classes = classes
        self.answer = answers[0]
        self.given = given
        self.eval()  # a fitted estimator is never in training mode

    @property
    def kind(self) -> Literal["logits", "probabilities", "value"]:
        """What it answers with, in the words of ``Setting.outputs``."""
        if not hasattr(self.estimator, "classes_"):
            return "value"
        return "logits" if self.answer == "decision_function" else "probabilities"

    def forward(self, x: Tensor) -> Tensor:
        outputs = _outputs(self.estimator, self.answer, self.table(x))
        if self.classes is not None:
            outputs = self._to_all_classes(outputs, self.classes)
        return torch.as_tensor(outputs, dtype=x.dtype, device=x.device)

    def table(self, x: Tensor) -> Any:
        """Rows in the estimator's format."""
        return _table(self.estimator, x) if self.given is None else self.given(x)

    def _to_all_classes(self, outputs: NDArray[Any], classes: int) -> NDArray[Any]:
        """Columns for all classes, from the columns of the classes seen in training."""
        seen = self.estimator.classes_
        if self.answer != "predict_proba" and len(seen) != classes:
            raise AssayError(f"{type(self.estimator).__name__} saw {len(seen)} of {classes} classes in training.")
        spread = np.zeros((len(outputs), classes))
        spread[:, seen.astype(int)] = outputs
        return spread

    def extra_repr(self) -> str:
        return type(self.estimator).__name__


def _table(estimator: Any, x: Tensor) -> Any:
    """An array, or a pandas frame if the estimator was fitted on named columns."""
    rows = x.detach().flatten(1).cpu().numpy()
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        return rows
    return import_module("pandas").DataFrame(rows, columns=names)  # imported here: slow, and rarely needed


def _outputs(estimator: Any, answer: str, rows: Any) -> NDArray[Any]:
    outputs = _matrix(estimator, getattr(estimator, answer)(rows))
    classes = getattr(estimator, "classes_", None)
    if answer == "predict_proba" or classes is None:
        return outputs
    return _per_class(estimator, outputs) if answer == "decision_function" else (outputs == classes).astype(float)


def _matrix(estimator: Any, answer: Any) -> NDArray[Any]:
    """(N,) or (N, outputs) -> (N, outputs)."""
    if isinstance(answer, list):  # scikit-learn returns a list if there are several labels per row
        raise AssayError(f"{type(estimator).__name__} predicts {len(answer)} labels per row: explain one at a time.")
    matrix = np.array(answer)  # a copy: frames give arrays that cannot be written
    return matrix[:, None] if matrix.ndim == 1 else matrix


def _per_class(estimator: Any, scores: NDArray[Any]) -> NDArray[Any]:
    count = len(estimator.classes_)
    if count == 2:
        return np.concatenate([-scores / 2, scores / 2], axis=1)
    # Three classes have three pairs, so the shape alone does not distinguish them.
    if scores.shape[1] != count or getattr(estimator, "decision_function_shape", "ovr") == "ovo":
        name = type(estimator).__name__
        raise AssayError(f"{name} scores pairs of classes, not classes: fit it with decision_function_shape='ovr'.")
    return scores
