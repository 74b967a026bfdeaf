"""Other people's metrics: anything called with a model, samples, classes and attributions.

They are told by the names of the parameters of the call, never by their own names: a class that is made with its
parameters and whose instance is called, an instance, or a plain function. What such a call returns becomes numbers.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from torch import Tensor, nn

from assay.core.declared import declared
from assay.core.errors import NotApplicable, SpecError
from assay.core.evidence import Evidence
from assay.core.foreign import is_target, load
from assay.core.rng import seeded
from assay.core.trial import Trial

Numbers = npt.NDArray[np.float64]

# What a call can take, and the names under which it asks for it. The first four make a metric.
NAMES: Mapping[str, tuple[str, ...]] = {
    "model": ("model",),
    "x": ("x_batch", "x", "inputs"),
    "y": ("y_batch", "y", "targets", "target", "labels"),
    "a": ("a_batch", "a", "attributions", "attribution"),
    "mask": ("s_batch", "s", "masks", "mask"),
    "batch_size": ("batch_size",),
    "device": ("device",),
    "softmax": ("softmax",),
    "channel_first": ("channel_first",),
    "explain": ("explain_func",),
}
NEEDED = ("model", "x", "y", "a")


@dataclass(frozen=True, eq=False)
class Material:
    """What a metric is asked about: the model's raw answers, for these classes of these samples."""

    model: nn.Module
    x: Tensor  # (N, *entries)
    y: Tensor  # (N,)
    a: Tensor  # (N, *entries), or (N, 1, height, width) where it is per pixel
    mask: Tensor | None = None  # bool, in the shape of a: where something is
    explain: Callable[..., Any] | None = None  # makes attributions again: (model, inputs, targets) -> array


@dataclass(frozen=True, eq=False)
class ForeignMetric:
    """A metric called with a model, samples, classes and attributions; made anew for every call."""

    make: Callable[[], Callable[..., Any]]
    names: Mapping[str, str]  # role -> parameter
    arrays: bool  # takes numpy arrays, not tensors
    facts: Mapping[str, Any] = field(default_factory=dict)  # what the object says about itself
    wrapped: Any = None  # the class, instance or function
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def batches(self) -> bool:
        """True where the call takes a batch size."""
        return "batch_size" in self.names

    def ask(self, material: Material, batch_size: int | None = None) -> Any:
        """Whatever a new instance returns."""
        return self.ask_instance(self.make(), material, batch_size)

    def ask_instance(self, instance: Callable[..., Any], material: Material, batch_size: int | None = None) -> Any:
        given: dict[str, Any] = {name: self._plain(getattr(material, name)) for name in ("x", "y", "a")}
        given |= {"model": material.model, "device": "cpu", "softmax": False, "channel_first": True}
        given |= {"mask": self._plain(material.mask), "explain": material.explain, "batch_size": batch_size}
        kept = {name: value for name, value in given.items() if name in self.names and value is not None}
        return instance(**{self.names[name]: value for name, value in kept.items()})

    def __call__(self, trial: Trial) -> Evidence:
        """One value per sample, as metrics of the catalogue give it; random numbers are the block's (ADR 3)."""
        query, attribution = trial.scene.ask(), trial.attribution
        if attribution.dim() == query.x.dim() - 1 and attribution.dim() > 1:
            attribution = attribution.unsqueeze(1)  # per pixel
        with seeded(*trial.scene.stream.within("global", query.indices[0]).key):
            found, each = numbers(self.ask(Material(query.module, query.x, query.target, attribution)))
        if not each or len(found) != len(trial):
            raise NotApplicable("scores sets of samples, not each one: it can be checked, not averaged")
        value = found.reshape(len(found), -1).mean(axis=1)
        if np.isinf(value).any():
            raise ValueError("the metric returned infinite values; undefined is NaN")
        defined = ~np.isnan(value)
        return Evidence({"value": np.where(defined, value, 0.0), "defined": defined})

    def _plain(self, tensor: Tensor | None) -> Any:
        copy = None if tensor is None else tensor.detach().clone()
        return copy if copy is None or not self.arrays else copy.cpu().numpy()


def foreign_metric(name: str, target: Any, params: Mapping[str, Any]) -> ForeignMetric | None:
    """The metric behind a class, an instance or a function; None where its call is not that of a metric."""
    if not (names := roles(target)):
        return None
    arrays = names["x"].endswith("_batch") or "ndarray" in str(_parameters(target)[names["x"]].annotation)
    return ForeignMetric(_maker(name, target, params), names, arrays, declared(target), target, params)


def roles(target: Any) -> dict[str, str]:
    """Which parameter of the call takes what; empty for what is no metric."""
    known = _parameters(target)
    found = {role: name for role, names in NAMES.items() for name in reversed(names) if name in known}
    return found if all(role in found for role in NEEDED) else {}


def numbers(result: Any) -> tuple[Numbers, bool]:
    """A result as numbers, and whether its first axis may be samples (a single number and a dict's values are not)."""
    if isinstance(result, Mapping):
        columns = np.asarray([_array(value) for value in result.values()], dtype=np.float64)
        return (columns, False) if columns.ndim < 2 else (np.moveaxis(columns, 0, -1), True)
    found = _array(result)
    return (found, True) if found.ndim else (found.reshape(1), False)


def _array(result: Any) -> Numbers:
    plain = result.detach().cpu().numpy() if isinstance(result, Tensor) else result
    with suppress(TypeError, ValueError):
        found = np.asarray(plain)
        if found.dtype.kind in "biuf":
            return found.astype(np.float64)
    raise TypeError(f"returned {type(result).__name__} that cannot be read as numbers")


def _parameters(target: Any) -> Mapping[str, inspect.Parameter]:
    call = inspect.getattr_static(target, "__call__", None) if inspect.isclass(target) else target
    try:
        return inspect.signature(call).parameters  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return {}


def _maker(name: str, target: Any, params: Mapping[str, Any]) -> Callable[[], Callable[..., Any]]:
    if not inspect.isclass(target):
        if params:
            raise SpecError(f"'{name}' is made already: it takes no parameters here.")
        return lambda: deepcopy(target)  # functions stay themselves
    given = {key: _looked_up(value) for key, value in params.items()}

    def make() -> Callable[..., Any]:
        try:
            return cast(Callable[..., Any], target(**given))
        except TypeError as error:
            raise SpecError(f"cannot make '{name}': {error}") from None

    make()  # what does not fit is said at once
    return make


def _looked_up(value: Any) -> Any:
    """A text ``module:attr`` stands for what it names: a function cannot be written in a spec."""
    return load(value) if is_target(value) else value
