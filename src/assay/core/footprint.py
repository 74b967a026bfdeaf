"""How much memory one row needs in a model: the bytes of the tensors that a pass over one row holds at a time.

A pass is followed operation by operation, and every tensor from its making to its end. What operations take for
themselves, and no tensor shows, is added for convolutions: torch's CPU kernels copy a convolution's input and output
into layouts of their own. All of it is arithmetic from shapes: no clock, no free memory, no instruction set.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

GAPS = 1.5  # what a pass takes of a heap, over what it holds: 1.1 to 1.4 in ``assay bench memory``
LANES = 16  # channels of a convolution's own layout come in multiples of this


@dataclass(frozen=True)
class Footprint:
    """Bytes per row of a forward pass, and of a forward and a backward pass; the points themselves are counted."""

    forward: int
    gradient: int


_known: WeakKeyDictionary[nn.Module, dict[tuple[object, ...], Footprint]] = WeakKeyDictionary()


def footprint(model: nn.Module, row: Tensor) -> Footprint:
    """Measured on one row (1, *entries), once per model and shape."""
    table = _known.setdefault(model, {})
    key = (tuple(row.shape), row.dtype)
    if key not in table:
        table[key] = _measure(model, row)
    return table[key]


def _measure(model: nn.Module, row: Tensor) -> Footprint:
    row, own = row.detach(), [*model.parameters(), *model.buffers()]
    forward = _most(lambda: _forward(model, row), [row, *own])
    try:
        gradient = _most(lambda: _gradient(model, row), [row, *own])
    except Exception:  # a forward that leaves torch has no gradients
        gradient = forward
    return Footprint(_with_points(forward, row), _with_points(max(forward, gradient), row))


def _forward(model: nn.Module, row: Tensor) -> None:
    with torch.no_grad():
        model(row)


def _gradient(model: nn.Module, row: Tensor) -> None:
    with torch.enable_grad():
        own = row.clone().requires_grad_()
        torch.autograd.grad(model(own).sum(), own, materialize_grads=True)


def _with_points(size: int, row: Tensor) -> int:
    """What a pass takes, with its points and what these are made of."""
    return int(GAPS * (max(size, 2 * row.nbytes) + 2 * row.nbytes))


def _most(run: Callable[[], None], before: list[Tensor]) -> int:
    live = _Live(before)
    with live:
        run()
    return live.most


class _Live(TorchDispatchMode):
    """The bytes that a computation has made and holds, and the most that it held at a time."""

    def __init__(self, before: list[Tensor]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.now, self.most = 0, 0
        # Kept alive, so that no new tensor takes an old one's address.
        self._storages: dict[int, Any] = {_place(tensor): tensor for tensor in before}

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # or torch imports its compiler for the first operation, which takes a second or two

    def __torch_dispatch__(
        self, operation: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        held = self.now
        out = operation(*args, **(kwargs or {}))
        made = [leaf for leaf in tree_leaves(out) if isinstance(leaf, Tensor)]
        for tensor in made:
            self._follow(tensor)
        self.most = max(self.most, self.now, held + _scratch(operation, args, made))
        return out

    def _follow(self, tensor: Tensor) -> None:
        place = _place(tensor)
        if place in self._storages:
            return
        storage = tensor.untyped_storage()
        size = storage.nbytes()

        def forget(_: Any) -> None:
            self.now -= size
            del self._storages[place]

        self._storages[place] = weakref.ref(storage, forget)
        self.now += size


def _place(tensor: Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)


def _scratch(operation: Any, args: tuple[Any, ...], made: list[Tensor]) -> int:
    """Bytes of a convolution's result and of its own copies of what it reads and makes."""
    aten = torch.ops.aten
    if operation not in (aten.convolution.default, aten.convolution_backward.default) or not made:
        return 0
    back = operation is aten.convolution_backward.default
    source, result, weight, stride = args[0], made[0], args[2 if back else 1], args[4 if back else 3]
    if source.dtype == torch.float32:
        copies = 2 if back and max(stride) > 1 else 1  # what a stride skipped is filled in with a copy more
        return _laid_out(result) + max(_laid_out(source), copies * result.nbytes)
    # Other number formats: every patch that the kernel reads is written out, unless it is a single pixel.
    few, many = (source, result) if back else (result, source)
    patch = weight[0, 0].numel()
    columns = many.shape[1] * patch * few[:, 0].numel() * source.element_size()
    return result.nbytes + (columns if patch > 1 else 0)


def _laid_out(tensor: Tensor) -> int:
    channels = tensor.shape[1]
    return tensor.nbytes // max(1, channels) * (-(-channels // LANES) * LANES)
