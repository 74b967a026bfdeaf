"""A user's model, which an environment names as module:attr: loaded, given its weights, frozen and checked."""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from assay.catalogue.foreign_cards import code_digest
from assay.core.errors import SpecError
from assay.core.rng import global_streams_restored
from assay.foreign import models
from assay.foreign.imports import load
from assay.foreign.inputs import one_line
from assay.train.estimator import as_model

NO_MODEL = "not a torch.nn.Module, and no estimator in scikit-learn's manner"
FORMATS = {"float32": torch.float32, "float64": torch.float64}


@dataclass(frozen=True, eq=False)
class ReadyModel:
    """A model ready to answer, and the object it was made from, kept alive so that its id stays unique."""

    module: nn.Module
    kind: str  # what it answers with: logits, probabilities or a value
    outputs: int
    origin: Any


@dataclass(frozen=True)
class UserModel:
    """What the parameters of an environment say about its model."""

    environment: str  # its name, with which messages begin
    code: str  # module:attr
    weights: str  # a file with a state_dict; empty: the code's own weights
    outputs: str | None  # what the model answers with; None: what it has
    dtype: str = "float32"  # of its weights

    @property
    def version(self) -> tuple[int, str]:
        """The id of the object that Python loads for this name, and its source digest: a reload changes both."""
        if ":" not in self.code:
            raise SpecError(f"{self.environment}: '{self.code}' names no model: write module:attr.")
        loaded, digest = load(self.code), ""
        with suppress(SpecError):  # code typed at a prompt has no source
            digest = code_digest(self.code)
        return id(loaded), digest

    def ready(self, x: Tensor) -> ReadyModel:
        """The model, tried on a few rows; every process must make the same one."""
        origin = load(self.code)
        with global_streams_restored():  # the user's layers draw as they are made; the user's numbers stay the same
            module, kind = as_model(models.frozen_copy(self._make(origin), x), self.outputs)
            outputs = models.count_outputs(module, x, kind)
            if not isinstance(origin, nn.Module):
                name = f"{self.environment}: {self.code}"
                models.check_equal_models(name, module, models.frozen_copy(self._make(origin), x), x)
        return ReadyModel(module, kind, outputs, origin)

    def _make(self, origin: Any) -> nn.Module:
        """A copy of the user's model, so that changes do not reach the original."""
        name, module = f"{self.environment}: {self.code}", as_model(origin, self.outputs)[0]
        if not callable(origin) and not isinstance(module, nn.Module):
            raise SpecError(f"{name} is {type(origin).__name__}, {NO_MODEL}, or a function returning one.")
        try:
            module = module if isinstance(module, nn.Module) else as_model(origin(), self.outputs)[0]
        except (Exception, SystemExit) as error:
            raise SpecError(f"{name}() makes no model: {one_line(error)}.") from error
        if not isinstance(module, nn.Module):
            raise SpecError(f"{name} is {type(module).__name__}, {NO_MODEL}.")
        copy = models.checked_copy(module).to(FORMATS[self.dtype])
        if self.weights:
            self._load_weights(copy)
        return copy

    def _load_weights(self, model: nn.Module) -> None:
        """Load a file's state_dict into the model."""
        path = self.weights
        if not Path(path).is_file():
            raise SpecError(f"{self.environment}: there is no file '{path}'.")
        try:
            with warnings.catch_warnings(action="ignore"):
                model.load_state_dict(models.read_state(path))
        except Exception as error:  # three libraries, each with its own errors
            plain = type(error).__name__ != "UnpicklingError"  # torch would advise to load it without protection
            reason = one_line(error) if plain else "it holds other things than tensors, or is no such file"
            raise SpecError(
                f"{self.environment}: {path} does not hold the weights of {self.code}: {reason}."
            ) from error


def stamp(path: str) -> tuple[int, int]:
    """Size and time of change, so that a changed file is read again."""
    status = Path(path).stat() if Path(path).is_file() else None
    return (status.st_size, status.st_mtime_ns) if status else (0, 0)
