"""A user's model and data."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from assay.catalogue.files import digests
from assay.core.errors import SpecError
from assay.core.question import Question
from assay.core.rng import generator
from assay.core.setting import Samples, Setting
from assay.core.spec import Code, Data, File
from assay.environments._user_model import FORMATS, UserModel
from assay.foreign.imports import load
from assay.foreign.inputs import checked_baseline
from assay.foreign.models import default_readout
from assay.train.networks import initialise, mlp
from assay.users.reading import Reading
from assay.users.subject import Asking, Subject, default_baseline, read_subject


@dataclass(frozen=True)
class Own:
    """Your model, and your data. Metrics that need to know the right map are skipped.

    The model is a torch module, a fitted estimator or pipeline, a booster, or a function, as ``module:attr`` or in a
    file; the data are a table (CSV, Parquet), arrays (.npz, .npy), texts (a line each) or a folder of images
    with a sub-folder for each class. One batch is tried, and a sentence says what was chosen: which output, which
    classes, how rows reach the model. What is open is refused with the words that decide it.

    For seed 0 sample i is row i; other seeds draw an order. More samples than rows are an error. Without labels, the
    model's predictions are used. Without reference rows, the rows are their own reference. Methods compare a table or a
    series with the mean of the reference, an image with 0, a text with no words, unless ``baseline`` says otherwise.

    The model is used frozen, in evaluation mode, and must answer a row the same way alone and among others. Its source,
    your modules that it imports, weights and data are in the keys; files that the code reads by itself are not.
    """

    modality: ClassVar[str] = "image, table, text or series"
    wraps: ClassVar[bool] = True
    draws_model: ClassVar[bool] = False
    stream_name: ClassVar[str] = "own"  # random numbers depend on this and on the row

    model: Code = "assay.environments.own:example"  # module:attr, a model or a function that makes one
    saved: File = ""  # the model in a file: XGBoost's .json or .ubj, LightGBM's .txt; others need --trust in the shell
    data: Data = ""  # a file or folder; empty: a small example
    label: str = ""  # the column or array of labels; empty: y of arrays, sub-folders of images, else none
    reference: Data = ""  # training rows like the data; empty: those in the data (reference_x), or the rows themselves
    weights: File = ""  # a state_dict for the model: .safetensors, .npz or torch's format; empty: the code's own
    outputs: Literal["logits", "probabilities", "value"] | None = None  # what the model answers with; None: as tried
    output: str | int | None = None  # which of several tensors it answers with: a name or a place
    forward: Code = ""  # module:attr of a function (model, rows) that asks the model; empty: it is called with rows
    readout: Literal["logit", "probability", "margin", "value"] | None = None  # what is explained; None: as outputs
    target: Literal["predicted", "label"] = "predicted"  # which class is explained
    baseline: str | float | None = None  # what methods compare with: zero, mean, uniform, a number; None: by the data
    by: Literal["steps", "channels", "both"] | None = None  # what a feature of a series is; None: a step
    channels_first: bool | None = None  # of series and images: rows are (channels, ...); None: as they look
    scale: Literal["unit", "as is"] | None = None  # images in 0..255: divided by 255, or not; None: whole numbers are
    dtype: Literal["auto", "float32", "float64"] = "auto"  # of rows and weights; auto: the model's, else the data's

    @classmethod
    def tiny(cls) -> Own:
        return cls()

    @property
    def rows(self) -> int:
        """How many rows the data have."""
        return len(self.subject.rows)

    @property
    def subject(self) -> Subject:
        """Model and rows, read once per process."""
        paths = (self.weights, self.saved, self.data, self.reference)
        return _subject(self, self._model.version, digests(*paths))

    def setting(self, seed: int, weights: Mapping[str, Tensor]) -> Setting:
        subject = self.subject
        taken, rows = subject.taken, subject.rows
        if taken.outputs == "value" and taken.count > 1:
            raise SpecError(
                f"{self.model} answers with {taken.count} values, and an environment cannot say which of them is "
                "explained: give a model that answers with one, or call assay.evaluate with a target."
            )
        has_reference = rows.reference is not None or len(rows) > 1
        baseline = default_baseline(rows, has_reference) if self.baseline is None else self.baseline
        if baseline == "mean" and not has_reference:
            raise SpecError("the baseline 'mean' is that of several rows: give them as reference_x, or as reference.")
        question = Question(default_readout(taken.outputs, self.readout), 1.0, checked_baseline(baseline), self.target)
        return subject.setting(question, subject.reference(own=True))

    def identities(self, indices: Sequence[int], seed: int) -> list[Hashable]:
        """Row numbers in the data: other seeds have the same rows in another order."""
        rows, count = list(indices), self.rows
        if rows and max(rows) >= count:
            raise SpecError(
                f"row {max(rows)} was asked for and {self.data or 'the example'} has {count}. Samples are computed in "
                "whole blocks: give the study at most as many samples, and a block that divides them."
            )
        return list(self.order(count, seed)[rows].tolist())

    @staticmethod
    def order(count: int, seed: int) -> NDArray[np.int64]:
        """In which order a seed takes the rows."""
        return torch.randperm(count, generator=generator("own", "order", seed)).numpy() if seed else np.arange(count)

    def sample(self, indices: Sequence[int], seed: int) -> Samples:
        self.identities(indices, seed)  # refuses rows that there are not
        subject = self.subject
        rows, positions = subject.rows, self.order(self.rows, seed)[list(indices)].tolist()
        words = tuple(rows.words[position] for position in positions) if rows.words else ()
        return Samples(rows.x[positions], _labels(subject)[positions], None, tuple(indices), words=words)

    @property
    def _model(self) -> UserModel:
        return UserModel(self.model, self.weights, self.outputs, self.dtype, self.saved)


def example() -> nn.Module:
    """A small untrained network for 6 columns and 3 classes, always the same."""
    network = mlp(6, (8,), 3)
    initialise(network, generator("own", "example"))
    return network


@lru_cache(maxsize=2)
def _subject(own: Own, _code: object, _files: object) -> Subject:
    model, notes = own._model.made()
    data, reference = (own.data, own.reference or None) if own.data else _example_rows()
    read = partial(
        read_subject,
        data=data,
        reference=reference,
        label=own.label or None,
        asking=Asking(own.outputs, own.output, load(own.forward) if own.forward else None),
        reading=Reading(by=own.by, channels_first=own.channels_first, scale=own.scale, dtype=FORMATS.get(own.dtype)),
    )
    subject = read(model)
    own._model.check_made_again(subject.taken.module, lambda again: read(again).taken.module, subject.rows.x)
    return Subject(subject.rows, subject.taken, notes)


@lru_cache(maxsize=2)
def _labels(subject: Subject) -> Tensor:
    return subject.labels()


def _example_rows() -> tuple[Any, Any]:
    rows = torch.randn(144, 6, generator=generator("own", "rows"))
    return rows[16:], rows[:16]
