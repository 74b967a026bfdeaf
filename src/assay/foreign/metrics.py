"""Foreign metrics: anything called with a model, samples, classes and attributions.

They are recognised by the parameter names of the call, never by their own names. A foreign metric is a class whose
instances are called, an instance, or a plain function. The result of a call is converted to numbers.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from assay.core.errors import NotApplicable, SpecError
from assay.core.evidence import Evidence
from assay.core.trial import Trial
from assay.foreign.answers import explained_model, seeded_streams
from assay.foreign.calls import is_needed, named_parameters
from assay.foreign.declared import declared_facts
from assay.foreign.imports import is_target, load
from assay.foreign.refusals import refusal

Numbers = npt.NDArray[np.float64]

# Roles of a call's parameters, and the names of each role. A metric has the first four.
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
SETS = "scores sets of samples, not each one: it can be checked, not averaged"
NEEDED = ("model", "x", "y", "a")


@dataclass(frozen=True, eq=False)
class MetricInputs:
    """The arguments of a metric call; the metric reads the model's answers without a softmax."""

    model: nn.Module
    x: Tensor  # (N, *entries)
    y: Tensor  # (N,)
    a: Tensor  # (N, *entries), or (N, 1, height, width) where it is per pixel
    mask: Tensor | None = None  # bool, in the shape of a: True inside the object
    explain: Callable[..., Any] | None = None  # computes attributions again: (model, inputs, targets) -> array


@dataclass(frozen=True, eq=False)
class ForeignMetric:
    """A metric called with a model, samples, classes and attributions; made anew for every call."""

    make: Callable[[], Callable[..., Any]]
    names: Mapping[str, str]  # role -> parameter
    arrays: bool  # takes numpy arrays, not tensors
    facts: Mapping[str, Any] = field(default_factory=dict)  # what the object declares about itself
    wrapped: Any = None  # the class, instance or function
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def stream_name(self) -> str:
        """Random numbers do not depend on parameters: those of an instance cannot be read."""
        definition = self.wrapped if hasattr(self.wrapped, "__qualname__") else type(self.wrapped)
        return f"{definition.__module__}:{definition.__qualname__}"

    @property
    def batches(self) -> bool:
        """True where the call takes a batch size."""
        return "batch_size" in self.names

    def ask(self, inputs: MetricInputs, batch_size: int | None = None) -> Any:
        """The result of a new instance, unchanged."""
        return self.ask_instance(self.make(), inputs, batch_size)

    def ask_instance(self, instance: Callable[..., Any], inputs: MetricInputs, batch_size: int | None = None) -> Any:
        values: dict[str, Any] = {name: self._copy(getattr(inputs, name)) for name in ("x", "y", "a")}
        values |= {"model": inputs.model, "device": "cpu", "softmax": False, "channel_first": True}
        values |= {"mask": self._copy(inputs.mask), "explain": inputs.explain, "batch_size": batch_size}
        accepted = {name: value for name, value in values.items() if name in self.names and value is not None}
        return instance(**{self.names[name]: value for name, value in accepted.items()})

    def __call__(self, trial: Trial) -> Evidence:
        """One value per sample, as metrics of the catalogue return it; random numbers depend on the block (ADR 3)."""
        query = trial.scene.ask()
        model, attribution = explained_model(query), _per_pixel(trial.attribution, query.x)
        again = self._again(trial, model) if "explain" in self.names else None
        inputs = MetricInputs(model, query.x, query.target, attribution, explain=again)
        with seeded_streams(query):
            numbers, per_sample = as_numbers(self.ask_instance(_of_each_sample(self.make()), inputs))
        if not per_sample or len(numbers) != len(trial):
            raise NotApplicable(SETS)
        value = numbers.reshape(len(numbers), -1).mean(axis=1)
        if np.isinf(value).any():
            raise ValueError("the metric returned infinite values; undefined is NaN")
        defined = ~np.isnan(value)
        return Evidence({"value": np.where(defined, value, 0.0), "defined": defined})

    def _again(self, trial: Trial, known: nn.Module) -> Callable[..., Any]:
        """The method of the trial for the metric's own questions: other inputs, other classes, a changed model."""
        scene = trial.scene

        def explain(model: nn.Module, inputs: Any, targets: Any, **_options: Any) -> Any:
            x = torch.as_tensor(inputs).to(scene.samples.x).reshape(-1, *scene.samples.x.shape[1:])
            target = torch.as_tensor(targets).to(scene.target).reshape(-1)
            inside = model if known is scene.setting.model else model.get_submodule("model")
            changed = None if model is known else replace(scene.setting, model=inside, forward=None)
            samples = None if len(x) % len(trial) == 0 else _nearest(x, scene.samples.x)
            return self._copy(_per_pixel(trial.again(x, target, changed, samples), x))

        return explain

    def _copy(self, tensor: Tensor | None) -> Any:
        copy = None if tensor is None else tensor.detach().clone()
        return copy if copy is None or not self.arrays else copy.cpu().numpy()


def foreign_metric(name: str, target: Any, params: Mapping[str, Any]) -> ForeignMetric | None:
    """The metric made of a class, an instance or a function; None if its call is not that of a metric."""
    if not (names := roles(target)):
        return None
    arrays = names["x"].endswith("_batch") or "ndarray" in str(_parameters(target)[names["x"]].annotation)
    return ForeignMetric(_maker(name, target, params), names, arrays, declared_facts(target), target, params)


def metric_of(name: str, thing: Any) -> Any:
    """An object as a metric: a foreign one, or one that is called with a trial; SpecError for anything else."""
    if metric := foreign_metric(name, thing, {}):
        return metric
    needed = [one for one in named_parameters(thing).values() if is_needed(one)] if callable(thing) else []
    if callable(thing) and len(needed) < 2 and not isinstance(thing, nn.Module):
        return thing
    takes = f"takes {', '.join(one.name for one in needed)}" if needed else f"is {type(thing).__name__}"
    raise refusal(
        f"'{name}' {takes}: a metric takes a trial, or a model, samples, classes and attributions, and is known by the "
        "names of these parameters.",
        "def mine(model, x, y, a):",
        "    return (x * a).flatten(1).sum(dim=1)",
        "assay.evaluate(model, x, metrics=[mine])",
    )


def roles(target: Any) -> dict[str, str]:
    """The parameter of the call for each role; empty for anything but a metric."""
    parameters = _parameters(target)
    by_role = {role: name for role, names in NAMES.items() for name in reversed(names) if name in parameters}
    return by_role if all(role in by_role for role in NEEDED) else {}


def _of_each_sample(instance: Any) -> Any:
    """An instance that would only return the mean over its samples is told to return all (the words are Quantus')."""
    if getattr(instance, "return_aggregate", False) is True and getattr(instance, "aggregate_func", None) is np.mean:
        instance.return_aggregate = False
    return instance


def _per_pixel(attribution: Tensor, x: Tensor) -> Tensor:
    """With an axis of one channel where there is one number per pixel."""
    return attribution.unsqueeze(1) if 1 < attribution.dim() < x.dim() else attribution


def _nearest(x: Tensor, samples: Tensor) -> list[int]:
    """The sample that each row was made from: metrics change a few rows of a block, and do not say which."""
    return torch.cdist(x.flatten(1).double(), samples.flatten(1).double()).argmin(dim=1).tolist()  # type: ignore[no-any-return]


def as_numbers(result: Any) -> tuple[Numbers, bool]:
    """A result as numbers, and whether its first axis may be samples (not for one number or a dict of numbers)."""
    if isinstance(result, Mapping):
        columns = np.asarray([_array(value) for value in result.values()], dtype=np.float64)
        return (columns, False) if columns.ndim < 2 else (np.moveaxis(columns, 0, -1), True)
    numbers = _array(result)
    return (numbers, True) if numbers.ndim else (numbers.reshape(1), False)


def _array(result: Any) -> Numbers:
    plain = result.detach().cpu().numpy() if isinstance(result, Tensor) else result
    with suppress(TypeError, ValueError):
        array = np.asarray(plain)
        if array.dtype.kind in "biuf":
            return array.astype(np.float64)
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
        return lambda: deepcopy(target)  # a function is not copied
    arguments = {key: _loaded(value) for key, value in params.items()}

    def make() -> Callable[..., Any]:
        try:
            return cast(Callable[..., Any], target(**arguments))
        except TypeError as error:
            raise SpecError(f"cannot make '{name}': {error}") from None

    make()  # raises at once for parameters that do not fit
    return make


def _loaded(value: Any) -> Any:
    """The object that a text ``module:attr`` names, because a spec cannot hold a function."""
    return load(value) if is_target(value) else value
