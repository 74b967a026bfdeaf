"""Adapts foreign code to components: explainers of Captum and shap, plain callables, functions of a query, metrics.

An object is recognised by what it can be asked, never by its name. What cannot be asked is refused with lines that
would work.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from torch import Tensor, nn

from assay.core.errors import SpecError
from assay.core.query import Query
from assay.foreign.answers import as_tensor, seeded_streams
from assay.foreign.calls import parameters_of
from assay.foreign.explainers import CaptumMethod
from assay.foreign.instances import read_instance
from assay.foreign.metrics import foreign_metric, metric_of
from assay.foreign.refusals import EVALUATE, named, refusal, variable, wrapped
from assay.foreign.shapley import CALLS, ShapMethod

OF_FUNCTIONS = ("Kernel", "Sampling", "Permutation", "Exact", "Partition")  # shap's explainers of functions
ROWS = ("x", "x_batch", "input", "inputs", "input_tensor", "images", "data", "batch")  # names of rows in other calls


@dataclass(frozen=True)
class CallableMethod:
    """A plain function ``f(model, inputs, targets, **params) -> array``, the interface of Quantus."""

    wrapped: Callable[..., Any]
    params: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, query: Query) -> Tensor:
        with seeded_streams(query):
            return as_tensor(self.wrapped(query.module, query.x.clone(), query.target, **self.params), query)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class QueryMethod:
    """A function of a query."""

    wrapped: Callable[..., Any]
    params: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, query: Query) -> Tensor:
        with seeded_streams(query):
            return as_tensor(self.wrapped(query, **self.params), query)  # type: ignore[no-any-return]


def adapt(kind: str, name: str, target: Any, params: Mapping[str, Any]) -> Any:
    """The component made of a foreign class, function or instance."""
    if kind == "metrics" and (metric := foreign_metric(name, target, params)):
        return metric
    if kind == "methods" and isinstance(target, Tensor | np.ndarray):
        raise SpecError("attributions that exist already are read from a file: \"precomputed(path='maps.npy')\".")
    if kind == "methods":
        return _method(name, target, params)
    if inspect.isclass(target):
        instance = _instance(name, target, params)
        return metric_of(name, instance) if kind == "metrics" else instance
    raise SpecError(f"'{name}' is {type(target).__name__}: expected a class.")


def display_name(thing: Any) -> str:
    """The name of a function or a class; for any other object, of its class."""
    thing, _ = _taken_apart(thing, {})
    return str(getattr(thing, "__name__", type(thing).__name__))


def _taken_apart(target: Any, params: Mapping[str, Any]) -> tuple[Any, Mapping[str, Any]]:
    """An explainer and what it is asked with, from ``partial(explainer.attribute, n_steps=20)``."""
    if isinstance(target, partial) and not target.args:
        return _taken_apart(target.func, {**target.keywords, **params})
    owner = getattr(target, "__self__", None)
    is_its_call = getattr(target, "__name__", "") == "attribute" and hasattr(owner, "attribute")
    return (owner if is_its_call else target), params


def _method(name: str, target: Any, params: Mapping[str, Any]) -> Any:
    target, params = _taken_apart(target, params)
    if inspect.isclass(target):
        return _of_class(name, target, params)
    if hasattr(target, "attribute"):
        method = read_instance(target, params)
        method.check_names()
        return method
    if any(hasattr(target, call) for call in CALLS):
        return ShapMethod(target, params)
    return _call(name, target, params)


def _of_class(name: str, cls: type, params: Mapping[str, Any]) -> Any:
    if hasattr(cls, "attribute"):
        method = CaptumMethod(cls, params)
        method.check_names()
        return method
    if any(hasattr(cls, call) for call in CALLS):
        model = "model.predict_proba" if cls.__name__.startswith(OF_FUNCTIONS) else "model"
        raise refusal(
            f"'{name}' is a class whose explainers are bound to a model and to data: make one.",
            f"explainer = {cls.__module__.split('.')[0]}.{cls.__name__}({model}, background)",
            EVALUATE.format("{'mine': explainer}"),
        )
    instance = _instance(name, cls, params)
    if not callable(instance) or isinstance(instance, nn.Module):
        raise _no_method(name, f"makes a {cls.__name__}, which is no method")
    return instance


def _call(name: str, target: Any, params: Mapping[str, Any]) -> CallableMethod | QueryMethod:
    """A callable, with the arguments that its first parameters are named for."""
    if hasattr(target, "explain_instance"):
        ours = "lime_image" if "image" in (parameters_of(target.explain_instance) or {}) else "lime_tabular"
        raise named(f"'{name}' explains one row at a time; our own LIME explains many.", ours)
    if isinstance(target, nn.Module) or not callable(target):
        kind = type(target).__name__
        raise _no_method(name, "is no method" if name == kind else f"is {kind}")
    parameters = parameters_of(target)
    first = next(iter(parameters or {}), "")
    if first == "query":
        return QueryMethod(target, params)
    if parameters is not None:
        problem = f"takes '{first}' first" if first in ROWS else _misfit(target, params)
        if problem:
            inputs = "inputs" if first in ROWS or len(parameters) < 2 else "model, inputs"
            raise wrapped(
                f"'{name}' cannot be called as f(model, inputs, targets): {problem}.", f"{variable(target)}({inputs})"
            )
    return CallableMethod(target, params)


def _misfit(target: Callable[..., Any], params: Mapping[str, Any]) -> str:
    """What is wrong with three arguments and these parameters, or the empty string."""
    try:
        inspect.signature(target).bind(None, None, None, **params)
    except TypeError as error:
        return str(error)
    return ""


def _no_method(name: str, what: str) -> SpecError:
    return refusal(
        f"'{name}' {what}: expected a name, a class or, for a method, a callable f(model, inputs, targets).",
        "def mine(model, inputs, targets):",
        "    return inputs",
        EVALUATE.format("{'mine': mine, 'ig': 'integrated_gradients(steps=64)'}"),
    )


def _instance(name: str, cls: Callable[..., Any], params: Mapping[str, Any]) -> Any:
    try:
        return cls(**params)
    except TypeError as error:
        raise SpecError(f"cannot make '{name}': {error}") from None
