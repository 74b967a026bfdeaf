"""What a model looks like from outside, so that it can be told whether somebody left something behind."""

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
class Seen:
    """A thing by its identity, plain values by what they are; holding it keeps the identity from being reused."""

    thing: Any

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Seen):
            return False
        if isinstance(self.thing, PLAIN):
            return type(self.thing) is type(other.thing) and bool(self.thing == other.thing)
        return self.thing is other.thing


@dataclass(frozen=True, eq=False)
class Numbers:
    """A tensor by its numbers and flags."""

    numbers: Tensor
    requires_grad: bool
    has_grad: bool
    hooks: int

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Numbers):
            return False
        flags = (self.requires_grad, self.has_grad, self.hooks) == (other.requires_grad, other.has_grad, other.hooks)
        return flags and torch.equal(self.numbers, other.numbers)


def snapshot(model: nn.Module) -> dict[str, object]:
    """Hooks, modes, classes, attributes and tensors of a model and of everything in it, each under a name."""
    found: dict[str, object] = {name: _seen(getattr(torch_module, name)) for name in GLOBAL_HOOKS}
    for name, module in model.named_modules():
        found |= {f"{name or 'model'}.{part}": value for part, value in _parts(module)}
    return found


def changed(before: dict[str, object], after: dict[str, object]) -> list[str]:
    """The names under which two snapshots differ."""
    missing = object()
    return [name for name in before | after if before.get(name, missing) != after.get(name, missing)]


def _parts(module: nn.Module) -> Iterator[tuple[str, object]]:
    yield "__class__", Seen(type(module))
    for name, value in vars(module).items():
        yield name, _seen(value)
    for name, tensor in [*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)]:
        hooks = len(tensor._backward_hooks or ())
        yield (
            f"{name} (numbers)",
            Numbers(tensor.detach().clone(), tensor.requires_grad, tensor.grad is not None, hooks),
        )


def _seen(value: Any) -> object:
    """A container by what is in it, anything else as it is."""
    if isinstance(value, dict):
        return tuple((key, Seen(item)) for key, item in value.items())
    if isinstance(value, list | tuple | set):
        return tuple(Seen(item) for item in value)
    return Seen(value)
