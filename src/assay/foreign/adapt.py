"""Adapts foreign code to components: Captum classes, plain callables, functions of a query, metrics."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from assay.core.errors import SpecError
from assay.core.query import Query
from assay.core.rng import global_streams_seeded
from assay.foreign.metrics import foreign_metric


@dataclass(frozen=True)
class CaptumMethod:
    """A class with Captum's interface: made from the model, then ``.attribute(inputs, target=...)``."""

    wrapped: type
    params: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, query: Query) -> Tensor:
        if any(base.__name__ == "GradientAttribution" for base in self.wrapped.__mro__):
            query.require_gradients()  # first, because some fail earlier, on the model's layers
        explainer = self.wrapped(query.module)
        accepted = inspect.signature(explainer.attribute).parameters
        arguments: dict[str, Any] = dict(self.params)
        if "baselines" in accepted:
            arguments.setdefault("baselines", query.baseline)
        with _seeded_streams(query):
            return _tensor(
                explainer.attribute(query.x.clone().requires_grad_(), target=query.target, **arguments), query
            )


@dataclass(frozen=True)
class CallableMethod:
    """A plain function ``f(model, inputs, targets, **params) -> array``, the interface of Quantus."""

    wrapped: Callable[..., Any]
    params: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, query: Query) -> Tensor:
        with _seeded_streams(query):
            return _tensor(self.wrapped(query.module, query.x.clone(), query.target, **self.params), query)


@dataclass(frozen=True)
class QueryMethod:
    """A function of a query."""

    wrapped: Callable[..., Any]
    params: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, query: Query) -> Tensor:
        with _seeded_streams(query):
            return _tensor(self.wrapped(query, **self.params), query)


def _seeded_streams(query: Query) -> AbstractContextManager[None]:
    """Seeds the global random streams, so that a block always gets the same random numbers."""
    return global_streams_seeded(*query.stream.within("global", query.indices[0]).key)


def adapt(kind: str, name: str, target: Any, params: Mapping[str, Any]) -> Any:
    """The component made of a foreign class, function or instance."""
    if kind == "metrics" and (metric := foreign_metric(name, target, params)):
        return metric
    if inspect.isclass(target):
        if hasattr(target, "attribute") and kind == "methods":
            return CaptumMethod(target, params)
        return _instance(name, target, params)
    if callable(target) and kind == "methods":
        first = next(iter(inspect.signature(target).parameters), "")
        return QueryMethod(target, params) if first == "query" else CallableMethod(target, params)
    if kind == "methods" and hasattr(target, "attribute"):
        raise SpecError(f"'{name}' was made for one model: give its class, which will be made for the explained model.")
    if kind == "methods" and isinstance(target, Tensor | np.ndarray):
        raise SpecError("attributions that exist already are read from a file: \"precomputed(path='maps.npy')\".")
    raise SpecError(f"'{name}' is {type(target).__name__}: expected a class or, for a method, a callable.")


def _instance(name: str, cls: Callable[..., Any], params: Mapping[str, Any]) -> Any:
    try:
        return cls(**params)
    except TypeError as error:
        raise SpecError(f"cannot make '{name}': {error}") from None


def _tensor(result: Any, query: Query) -> Tensor:
    """Arrays become tensors; any other result is left to ``check_attribution``, which says what is wrong."""
    if isinstance(result, np.ndarray):
        copy = np.array(result, dtype=result.dtype.newbyteorder("="))  # contiguous, in this machine's byte order
        return torch.from_numpy(copy).to(query.x.device)
    return result  # type: ignore[no-any-return]
