"""Snapshots of a model, to find out whether code left it changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules import module as torch_module

PLAIN = (bool, int, float, str, type(None))
GLOBAL_HOOKS = (
    "_global_forward_hooks",
    "_global_forward_pre_hooks",
    "_global_backward_hooks",
    "_global_backward_pre_hooks",
)


@dataclass(frozen=True, eq=False)
class Identity:
    """Compares plain values by value and other objects by identity. It holds the object: a freed one's id is reused."""

    value: Any

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Identity):
            return False
        if isinstance(self.value, PLAIN):
            return type(self.value) is type(other.value) and bool(self.value == other.value)
        return self.value is other.value


@dataclass(frozen=True, eq=False)
class TensorState:
    """Compares tensors by their numbers and flags."""

    numbers: Tensor
    requires_grad: bool
    has_grad: bool
    hooks: int

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TensorState):
            return False
        flags = (self.requires_grad, self.has_grad, self.hooks) == (other.requires_grad, other.has_grad, other.hooks)
        return flags and torch.equal(self.numbers, other.numbers)


def snapshot(model: nn.Module) -> dict[str, object]:
    """Hooks, modes, classes, attributes and tensors of a model and its modules, by name; and torch's global hooks."""
    parts: dict[str, object] = {name: _comparable(getattr(torch_module, name)) for name in GLOBAL_HOOKS}
    for name, module in model.named_modules():
        parts |= {f"{name or 'model'}.{part}": value for part, value in _parts(module)}
    return parts


def changed_parts(before: dict[str, object], after: dict[str, object]) -> list[str]:
    """The names under which two snapshots differ."""
    missing = object()
    return [name for name in before | after if before.get(name, missing) != after.get(name, missing)]


def _parts(module: nn.Module) -> Iterator[tuple[str, object]]:
    yield "__class__", Identity(type(module))
    for name, value in vars(module).items():
        yield name, _comparable(value)
    for name, tensor in [*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)]:
        hooks = len(tensor._backward_hooks or ())
        yield (
            f"{name} (numbers)",
            TensorState(tensor.detach().clone(), tensor.requires_grad, tensor.grad is not None, hooks),
        )


def _comparable(value: Any) -> object:
    """Containers are compared by their items, other values as ``Identity``."""
    if isinstance(value, dict):
        return tuple((key, Identity(item)) for key, item in value.items())
    if isinstance(value, list | tuple | set):
        return tuple(Identity(item) for item in value)
    return Identity(value)
