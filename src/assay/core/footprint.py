"""How much memory one row needs in a model: arithmetic from the tensors that a pass over one row makes and keeps."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle


@dataclass(frozen=True)
class Footprint:
    """Bytes per row of a forward pass, and of a forward pass that keeps what the backward pass needs."""

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
    outputs = [row.nbytes]
    saved: dict[int, int] = {}
    own = {parameter.data_ptr() for parameter in (*model.parameters(), *model.buffers())}

    def note(_module: nn.Module, _inputs: object, output: object) -> None:
        if isinstance(output, Tensor):
            outputs.append(output.nbytes)

    def keep(tensor: Tensor) -> Tensor:
        if tensor.data_ptr() not in own:
            saved[tensor.data_ptr()] = tensor.nbytes
        return tensor

    handles: list[RemovableHandle] = []
    try:
        for module in model.modules():
            if not isinstance(module, torch.jit.ScriptModule):  # these show nobody what happens inside
                handles.append(module.register_forward_hook(note))
        try:
            with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
                model(row.detach().requires_grad_())
        except Exception:  # a forward that leaves torch has no gradients; if that is not why, it is told now
            with torch.no_grad():
                model(row.detach())
    finally:
        for handle in handles:
            handle.remove()
    # While a layer works, its input and output are there, and as much again on the way back; the largest decides.
    transient = row.nbytes + 3 * max(outputs)
    return Footprint(forward=_with_gaps(transient), gradient=_with_gaps(transient + sum(saved.values())))


def _with_gaps(size: int) -> int:
    """Half as much again: a heap that keeps what is freed has gaps (measured: up to a quarter of what is in use)."""
    return size * 3 // 2
