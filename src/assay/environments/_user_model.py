"""A user's model, which an environment names as module:attr: loaded, given its weights, frozen and checked."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from assay.catalogue.foreign_cards import code_digest
from assay.core.errors import SpecError
from assay.core.rng import global_streams_restored
from assay.core.spec import TRUST
from assay.foreign import models
from assay.foreign.imports import load
from assay.foreign.inputs import one_line
from assay.users.saved import load_saved
from assay.users.take import makes_models
from assay.users.weights import load_weights

FORMATS = {"float32": torch.float32, "float64": torch.float64}


@dataclass(frozen=True)
class UserModel:
    """What the parameters of an environment say about its model."""

    code: str  # module:attr
    weights: str  # a file with a state_dict; empty: the code's own weights
    outputs: str | None  # what the model answers with; None: what it has
    dtype: str = "float32"  # of its weights; auto: what they have
    saved: str = ""  # a file of an estimator or a booster, in place of code

    @property
    def version(self) -> tuple[int, str]:
        """The id of the object that Python loads for this name, and its source digest: a reload changes both."""
        if self.saved:
            return (0, "")
        if ":" not in self.code:
            raise SpecError(f"'{self.code}' names no model: write module:attr, or a file of a saved model.")
        loaded, digest = load(self.code), ""
        with suppress(SpecError):  # code typed at a prompt has no source
            digest = code_digest(self.code)
        return id(loaded), digest

    def made(self) -> tuple[Any, tuple[str, ...]]:
        """The user's model with its weights, which may be changed, and sentences about these."""
        if self.saved:
            return load_saved(self.saved, trusted=is_trusted(self.saved)), ()
        with global_streams_restored():  # the user's layers draw as they are made; the user's numbers stay the same
            return self._made()

    def _made(self) -> tuple[Any, tuple[str, ...]]:
        origin = load(self.code)
        try:
            model = origin() if makes_models(origin) else origin
        except (Exception, SystemExit) as error:
            raise SpecError(f"{self.code}() makes no model: {one_line(error)}.") from error
        if not isinstance(model, nn.Module):
            return model, ()
        copy = models.checked_copy(model)
        copy = copy.to(FORMATS[self.dtype]) if self.dtype in FORMATS else copy
        return copy, load_weights(copy, self.weights) if self.weights else ()

    def check_made_again(self, module: nn.Module, take: Callable[[Any], nn.Module], x: Tensor) -> None:
        """SpecError where a function makes another model every time: every process must make the same one."""
        if self.saved or not makes_models(load(self.code)):
            return
        with global_streams_restored():
            self._made()  # the streams go on: a second model draws other numbers
            again = take(self._made()[0])
        models.check_equal_models(self.code, module, again, x)


def is_trusted(path: str) -> bool:
    """Whether the user said at the command line that this file may run code as it is loaded."""
    return bool(os.environ.get(TRUST)) and os.path.realpath(path) == os.path.realpath(os.environ[TRUST])
