"""A user's model and data."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from assay.core.errors import SpecError
from assay.core.question import Question
from assay.core.rng import generator
from assay.core.setting import Reference, Samples, Setting
from assay.core.spec import Code, File
from assay.environments._user_model import FORMATS, ReadyModel, UserModel, stamp
from assay.foreign import models
from assay.foreign.arrays import read_arrays
from assay.foreign.inputs import (
    as_classes,
    as_rows,
    checked_baseline,
    checked_classes,
    checked_rows,
    default_baseline,
    features_of,
)
from assay.train.networks import initialise, mlp

NAMES = ("x", "y", "reference_x", "reference_y")  # arrays that are read


@dataclass(frozen=True)
class Own:
    """Your torch module or fitted estimator, and your rows. Metrics that need to know the right map are skipped.

    For seed 0 sample i is row i of the file; other seeds draw an order. More samples than rows are an error. Images are
    ``(N, channels, height, width)``, tables ``(N, columns)``. Without labels, the model's predictions are used.

    Without reference rows, the rows are their own reference. Methods compare a table with the mean of the reference, an
    image with 0, unless ``baseline`` says otherwise.

    Rows are floats, as the model reads them. The model is used frozen, in evaluation mode and in ``dtype`` (ours: peers
    take it unchanged), and must answer a row the same way alone and among others. Its source, your modules that it
    imports, weights and data are in the keys; files that the code reads by itself are not.

    An estimator in scikit-learn's manner answers with its probabilities, else its scores, else its predictions;
    ``outputs="logits"`` asks for scores. It has no gradients: ``by_differences`` is for methods that need these.
    """

    modality: ClassVar[str] = "image or table"
    wraps: ClassVar[bool] = True
    draws_model: ClassVar[bool] = False
    stream_name: ClassVar[str] = "own"  # random numbers depend on this and on the row

    model: Code = "assay.environments.own:example"  # module:attr, a model or a function that returns one
    data: File = ""  # .npz with x and optionally y, reference_x, reference_y, or .npy with x; empty: a small example
    weights: File = ""  # a state_dict for the model, .safetensors or torch's format; empty: the code's own weights
    outputs: Literal["logits", "probabilities", "value"] | None = None  # what the model answers with; None: logits
    readout: Literal["logit", "probability", "margin", "value"] | None = None  # what is explained; None: as outputs
    target: Literal["predicted", "label"] = "predicted"  # which class is explained
    baseline: str | float | None = None  # what methods compare with: zero, mean, uniform, a number; None: by the data
    dtype: Literal["float32", "float64"] = "float32"  # what rows and weights are rounded to as they are read

    @classmethod
    def tiny(cls) -> Own:
        return cls()

    @property
    def rows(self) -> int:
        """How many rows the data has."""
        return len(self._arrays["x"])

    @property
    def names(self) -> frozenset[str]:
        """Of the arrays that the data has."""
        return frozenset(self._arrays)

    def setting(self, seed: int, weights: Mapping[str, Tensor]) -> Setting:
        arrays, ready, baseline = self._arrays, self._ready, self._baseline
        if ready.kind == "value" and ready.outputs > 1:
            raise SpecError(
                f"own: {self.model} answers with {ready.outputs} values, and an environment cannot say which of them "
                "is explained: give a model that answers with one, or call assay.evaluate with a target."
            )
        x = self._rows("x")
        if baseline == "mean" and len(x) < 2 and "reference_x" not in arrays:
            raise SpecError("own: the baseline 'mean' is that of several rows: give them as reference_x in the data.")
        if "y" in arrays:
            self._labels_of(x, arrays["y"], "y")
        question = Question(models.default_readout(ready.kind, self.readout), 1.0, baseline, self.target)
        return models.own_setting(ready.module, x, question, ready.kind, self._reference(x))

    @property
    def _baseline(self) -> str | float:
        has_reference = "reference_x" in self._arrays or self.rows > 1
        return checked_baseline(
            default_baseline(self._rows("x"), has_reference) if self.baseline is None else self.baseline
        )

    @property
    def _arrays(self) -> Mapping[str, NDArray[Any]]:
        return _arrays(self.data, *stamp(self.data))

    @property
    def _model(self) -> UserModel:
        return UserModel("own", self.model, self.weights, self.outputs, self.dtype)

    @property
    def _ready(self) -> ReadyModel:
        return _ready(self, self._model.version, stamp(self.weights), stamp(self.data))

    def identities(self, indices: Sequence[int], seed: int) -> list[Hashable]:
        """Row numbers in the file: other seeds have the same rows in another order."""
        rows, count = list(indices), self.rows
        if rows and max(rows) >= count:
            raise SpecError(
                f"own: row {max(rows)} was asked for and {self.data or 'the example'} has {count}. Samples are "
                "computed in whole blocks: give the study at most as many samples, and a block that divides them."
            )
        return list(self.order(count, seed)[rows].tolist())

    @staticmethod
    def order(count: int, seed: int) -> NDArray[np.int64]:
        """In which order a seed takes the rows."""
        return torch.randperm(count, generator=generator("own", "order", seed)).numpy() if seed else np.arange(count)

    def sample(self, indices: Sequence[int], seed: int) -> Samples:
        arrays, rows = self._arrays, np.array(self.identities(indices, seed), dtype=np.int64)
        x = as_rows("x", arrays["x"][rows]).to(FORMATS[self.dtype])
        return Samples(x, self._labels_of(x, arrays["y"][rows] if "y" in arrays else None, "y"), None, tuple(indices))

    def _reference(self, like: Tensor) -> Reference | None:
        if "reference_x" not in self._arrays:  # rows are their own reference, one row says nothing about others
            return Reference(like, self._labels_of(like, self._arrays.get("y"), "y")) if len(like) > 1 else None
        x = self._rows("reference_x", like)
        return Reference(x, self._labels_of(x, self._arrays.get("reference_y"), "reference_y"))

    def _rows(self, name: str, like: Tensor | None = None) -> Tensor:
        return checked_rows(name, as_rows(name, self._arrays[name]).to(FORMATS[self.dtype]), like)

    def _labels_of(self, x: Tensor, labels: NDArray[Any] | None, name: str) -> Tensor:
        """The given labels, else predictions; 0 if the model answers with a value."""
        ready = self._ready
        if labels is None or ready.kind == "value":
            return models.predictions(ready.module, x, ready.kind)
        return checked_classes(name, as_classes(name, labels), len(x), ready.outputs)


def example() -> nn.Module:
    """A small untrained network for 6 columns and 3 classes, always the same."""
    network = mlp(6, (8,), 3)
    initialise(network, generator("own", "example"))
    return network


@lru_cache(maxsize=2)
def _ready(own: Own, _code: object, _weights: object, _data: object) -> ReadyModel:
    """The model, made once per process."""
    x = own._rows("x")
    features_of(x)
    return own._model.ready(x)


@lru_cache(maxsize=2)
def _arrays(path: str, _size: int, _time: int) -> Mapping[str, NDArray[Any]]:
    if not path:
        rows = torch.randn(144, 6, generator=generator("own", "rows")).numpy()
        return {"x": rows[16:], "reference_x": rows[:16]}
    if not Path(path).is_file():
        raise SpecError(f"own: there is no file '{path}'.")
    try:
        arrays, names = read_arrays(path, NAMES, single="x")
    except SpecError as error:
        raise SpecError(f"own: {error}") from None
    if "x" not in arrays or not arrays["x"].size:
        raise SpecError(f"own: '{path}' has {', '.join(names) or 'nothing'}, and no rows in an array 'x'.")
    for name in ("y", "reference_y"):
        x = arrays.get(name.replace("y", "x"))
        if name in arrays and (x is None or arrays[name].shape != x.shape[:1]):
            raise SpecError(f"own: '{name}' in '{path}' has shape {arrays[name].shape}: one label per row is needed.")
    return arrays
