"""Copies of models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

M = TypeVar("M", bound=nn.Module)


def model_copy(model: M) -> M:
    """A copy that shares nothing, also of a model that keeps activations, which ``deepcopy`` alone refuses."""
    with torch.no_grad():  # a scripted module's parameters would become results of calculations
        return deepcopy(model, {id(kept): kept.detach().clone() for kept in _kept(model)})


def _kept(model: nn.Module) -> Iterator[Tensor]:
    """Results of calculations that modules keep: copies do without the way they came about."""
    waiting = [vars(module) for module in model.modules()]
    seen: set[int] = set()
    while waiting:
        found: Any = waiting.pop()
        if isinstance(found, Tensor) and found.grad_fn is not None:
            yield found
        elif isinstance(found, Mapping | list | tuple) and id(found) not in seen:
            seen.add(id(found))
            waiting += found.values() if isinstance(found, Mapping) else found
