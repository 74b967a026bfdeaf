"""How much memory one row needs in a model: arithmetic from the shapes that its layers produce."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle


@dataclass(frozen=True)
class Footprint:
    """Bytes per row of a forward pass, and of a forward pass that keeps everything for the backward pass."""

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
    sizes = [row.nbytes]

    def note(_module: nn.Module, _inputs: object, output: object) -> None:
        if isinstance(output, Tensor):
            sizes.append(output.nbytes)

    handles: list[RemovableHandle] = []
    try:
        for module in model.modules():
            if next(module.children(), None) is None:
                handles.append(module.register_forward_hook(note))
        with torch.no_grad():
            model(row)
    finally:
        for handle in handles:
            handle.remove()
    # A forward pass holds a layer's input and output; convolutions unfold their input, hence the factor of two.
    # A backward pass holds every output, and the gradients of a layer's input and output on the way down.
    return Footprint(forward=row.nbytes + 4 * max(sizes), gradient=row.nbytes + sum(sizes) + 4 * max(sizes))
