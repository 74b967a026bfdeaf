"""Memory that a model needs per row: the most bytes of tensors that a pass over one row holds at a time.

A dispatch mode follows a pass operation by operation, and every tensor from its creation to its release. The heap takes
more than these: freed tensors leave gaps. Memory inside an operation is not visible as tensors. It is added for
convolutions: torch's CPU kernels copy a convolution's input and output into layouts of their own, unless channels are
last in memory. All numbers follow from shapes and layouts: no clock, no free memory, no instruction set.
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

GAPS = 1.6  # heap bytes assumed per byte of tensors that a pass holds; 1.0 to 1.5 were measured
LANES = 16  # a convolution's own layout rounds channels up to a multiple of this


@dataclass(frozen=True)
class Footprint:
    """Bytes per row of a forward pass, and of a forward and a backward pass; both include the input points."""

    forward: int
    gradient: int


_footprints: WeakKeyDictionary[nn.Module, dict[tuple[object, ...], Footprint]] = WeakKeyDictionary()


def footprint(model: nn.Module, row: Tensor) -> Footprint:
    """Measured on one row (1, *entries), once per model, shape and memory layout."""
    table = _footprints.setdefault(model, {})
    key = (tuple(row.shape), row.dtype, has_channels_last(row))
    if key not in table:
        table[key] = _measure(model, row)
    return table[key]


def same_footprint(model: nn.Module, copy: nn.Module) -> None:
    """What was measured of a model holds for its copy: nothing is measured again."""
    _footprints[copy] = dict(_footprints.get(model, {}))


def _measure(model: nn.Module, row: Tensor) -> Footprint:
    row, weights = row.detach(), [*model.parameters(), *model.buffers()]
    forward = _heap_bytes(lambda: _forward(model, row), [row, *weights])
    try:
        gradient = _heap_bytes(lambda: _gradient(model, row), [row, *weights])
    except Exception:  # a forward pass that leaves torch has no gradients
        gradient = forward
    return Footprint(_with_points(forward, row), _with_points(max(forward, gradient), row))


def _forward(model: nn.Module, row: Tensor) -> None:
    with torch.no_grad():
        model(row)


def _gradient(model: nn.Module, row: Tensor) -> None:
    with torch.enable_grad():
        leaf = row.clone().requires_grad_()
        torch.autograd.grad(model(leaf).sum(), leaf, materialize_grads=True)


def _with_points(size: float, row: Tensor) -> int:
    """Heap bytes of a pass, its input points and the tensors these are made from."""
    points = GAPS * 2 * row.nbytes
    return int(max(size, points) + points)


def _heap_bytes(run: Callable[[], None], existing: list[Tensor]) -> float:
    """The most that the heap takes during a computation."""
    tracker = _LiveBytes(existing)
    with tracker:
        run()
    return tracker.peak


class _LiveBytes(TorchDispatchMode):
    """The bytes of the tensors that a computation has made and holds now, and the heap bytes at the peak."""

    def __init__(self, existing: list[Tensor]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.now, self.peak = 0, 0.0
        # Holds the existing tensors, so that no new tensor takes the address of one of them.
        self._storages: dict[int, Any] = {_address(tensor): tensor for tensor in existing}

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else torch imports its compiler at the first operation, which takes a second or two

    def __torch_dispatch__(
        self, operation: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        bytes_before = self.now
        result = operation(*args, **(kwargs or {}))
        outputs = [leaf for leaf in tree_leaves(result) if isinstance(leaf, Tensor)]
        for tensor in outputs:
            self._track(tensor)
        self.peak = max(self.peak, GAPS * self.now, GAPS * bytes_before + _scratch(operation, args, outputs))
        return result

    def _track(self, tensor: Tensor) -> None:
        address = _address(tensor)
        if address in self._storages:
            return
        storage = tensor.untyped_storage()
        size = storage.nbytes()

        def release(_: Any) -> None:
            self.now -= size
            del self._storages[address]

        self._storages[address] = weakref.ref(storage, release)
        self.now += size


def _address(tensor: Tensor) -> int:
    """The address of the tensor's storage."""
    return int(tensor.untyped_storage()._cdata)


def _scratch(operation: Any, args: tuple[Any, ...], outputs: list[Tensor]) -> float:
    """Heap bytes of a convolution's result and of the copies that it makes of its input and its result."""
    aten = torch.ops.aten
    if operation not in (aten.convolution.default, aten.convolution_backward.default) or not outputs:
        return 0
    backward = operation is aten.convolution_backward.default
    source, result, weight, stride = args[0], outputs[0], args[2 if backward else 1], args[4 if backward else 3]
    if source.dtype != torch.float32:
        return GAPS * (result.nbytes + _patch_bytes(weight, *((result, source) if backward else (source, result))))
    if has_channels_last(source) or has_channels_last(result):
        return 0  # no copies are made
    copy = _layout_bytes(source)
    if backward:
        copies = 2 if max(stride) > 1 else 1  # one more copy fills in what a stride skipped
        return GAPS * (_layout_bytes(result) + max(copy, copies * result.nbytes))
    # The copy of the input is released before the result is made, which takes its place if it fits.
    return _layout_bytes(result) + copy + (0 if result.nbytes <= copy else result.nbytes)


def _patch_bytes(weight: Tensor, source: Tensor, result: Tensor) -> int:
    """In other number formats than float32, each patch that the kernel reads is copied, unless it is one pixel."""
    patch = weight[0, 0].numel()
    return source.shape[1] * patch * result[:, 0].numel() * source.element_size() if patch > 1 else 0


_takes_channels_last: WeakKeyDictionary[nn.Module, dict[tuple[object, ...], bool]] = WeakKeyDictionary()


def takes_channels_last(model: nn.Module, row: Tensor) -> bool:
    """Whether rows of a call should have channels last: on a CPU, where the model convolves images of several channels
    and answers a row (1, *entries) the same that way, up to rounding. Such calls make no copies and take less time.
    Tried once per model, shape and format."""
    if row.dim() != 4 or row.shape[1] == 1 or row.device.type != "cpu" or row.dtype != torch.float32:
        return False
    table = _takes_channels_last.setdefault(model, {})
    key = (tuple(row.shape), has_channels_last(row))
    if key not in table:
        table[key] = any(isinstance(part, nn.Conv2d) for part in model.modules()) and _answers_alike(model, row)
    return table[key]


def _answers_alike(model: nn.Module, row: Tensor) -> bool:
    with torch.no_grad():
        answer = model(row)
        try:
            other = model(row.contiguous(memory_format=torch.channels_last))
        except RuntimeError:  # such as that of ``view``
            return False
    return torch.allclose(other, answer, rtol=1e-4, atol=1e-5 * float(answer.abs().max()))


def has_channels_last(tensor: Tensor) -> bool:
    """Whether the channels of a pixel are neighbours in memory."""
    return tensor.dim() == 4 and tensor.shape[1] > 1 and tensor.is_contiguous(memory_format=torch.channels_last)


def _layout_bytes(tensor: Tensor) -> int:
    channels = tensor.shape[1]
    return tensor.nbytes // max(1, channels) * (-(-channels // LANES) * LANES)
