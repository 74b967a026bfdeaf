"""Other people's code as components: Captum classes, plain callables, functions of a query, metrics."""

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
from assay.core.foreign_metrics import foreign_metric
from assay.core.query import Query
from assay.core.rng import seeded


@dataclass(frozen=True)
class CaptumMethod:
    """A class in Captum's shape: made from the model, then ``.attribute(inputs, target=...)``."""

    wrapped: type
    params: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, query: Query) -> Tensor:
        if any(base.__name__ == "GradientAttribution" for base in self.wrapped.__mro__):
            query.require_gradients()  # some look at layers first, and stumble there
        explainer = self.wrapped(query.module)
        accepted = inspect.signature(explainer.attribute).parameters
        given: dict[str, Any] = dict(self.params)
        if "baselines" in accepted:
            given.setdefault("baselines", query.baseline)
        with _seeded(query):
            return _tensor(explainer.attribute(query.x.clone().requires_grad_(), target=query.target, **given), query)


@dataclass(frozen=True)
class CallableMethod:
    """A plain ``f(model, inputs, targets, **params) -> array``, the shape Quantus users know."""

    wrapped: Callable[..., Any]
    params: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, query: Query) -> Tensor:
        with _seeded(query):
            return _tensor(self.wrapped(query.module, query.x.clone(), query.target, **self.params), query)


@dataclass(frozen=True)
class QueryMethod:
    """A function of a query."""

    wrapped: Callable[..., Any]
    params: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, query: Query) -> Tensor:
        with _seeded(query):
            return _tensor(self.wrapped(query, **self.params), query)


def _seeded(query: Query) -> AbstractContextManager[None]:
    """The same numbers for the same block."""
    return seeded(*query.stream.within("global", query.indices[0]).key)


def adapt(kind: str, name: str, target: Any, params: Mapping[str, Any]) -> Any:
    """The component behind ``module:attr``."""
    if kind == "metrics" and (metric := foreign_metric(name, target, params)):
        return metric
    if inspect.isclass(target):
        if hasattr(target, "attribute") and kind == "methods":
            return CaptumMethod(target, params)
        return _made(name, target, params)
    if callable(target) and kind == "methods":
        first = next(iter(inspect.signature(target).parameters), "")
        return QueryMethod(target, params) if first == "query" else CallableMethod(target, params)
    if kind == "methods" and hasattr(target, "attribute"):
        raise SpecError(
            f"'{name}' is already made for a model: give its class, it is made for the one that is explained."
        )
    if kind == "methods" and isinstance(target, Tensor | np.ndarray):
        raise SpecError("maps that are there already are given as a file: \"precomputed(path='maps.npy')\".")
    raise SpecError(f"'{name}' is {type(target).__name__}: expected a class or, for a method, a callable.")


def _made(name: str, cls: Callable[..., Any], params: Mapping[str, Any]) -> Any:
    try:
        return cls(**params)
    except TypeError as error:
        raise SpecError(f"cannot make '{name}': {error}") from None


def _tensor(result: Any, query: Query) -> Tensor:
    """Arrays as tensors; anything else is left to ``check_attribution``, which says what is wrong with it."""
    if isinstance(result, np.ndarray):
        plain = np.array(result, dtype=result.dtype.newbyteorder("="))  # a copy: contiguous, in this machine's order
        return torch.from_numpy(plain).to(query.x.device)
    return result  # type: ignore[no-any-return]
