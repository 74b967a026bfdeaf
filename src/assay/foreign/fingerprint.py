"""Fingerprints of torch modules in memory: a model made at import is not determined by its source."""

from __future__ import annotations

import hashlib
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import is_dataclass
from types import SimpleNamespace
from typing import Any
from weakref import WeakKeyDictionary

_digests: WeakKeyDictionary[Any, tuple[object, str]] = WeakKeyDictionary()  # model -> stamps, digest
_PLAIN = (bool, int, float, complex, str, bytes, type(None))
# Attributes of torch itself; ``_tensors`` reads parameters and buffers, ``named_modules`` finds the modules.
_MACHINERY = ("training", "_parameters", "_buffers", "_modules", "_is_full_backward_hook")
_MARKS = ("_torchdynamo",)  # left by compilers; different in every process


def fingerprint(model: Any) -> str:
    """The digest of a torch module's parameters, buffers and plain attributes, by name; empty for any other object and
    for a class.

    Plain attributes are numbers, texts, tensors and arrays, also in lists, dicts, namespaces and dataclasses. Other
    attributes do not count.
    """
    if isinstance(model, type) or not callable(getattr(model, "named_parameters", None)):
        return ""
    contents = [*_tensors(model), *_attributes(model)]
    stamps = tuple((name, _stamp(value)) for name, value in contents)
    earlier_stamps, digest = _digests.get(model, (None, ""))
    if earlier_stamps != stamps:
        digest = _digest(contents)
        _digests[model] = (stamps, digest)
    return digest


def _tensors(model: Any) -> Iterator[tuple[str, Any]]:
    for name, tensor in (*model.named_parameters(), *model.named_buffers()):
        if _is_tensor(tensor):
            yield name, tensor


def _attributes(model: Any) -> Iterator[tuple[str, Any]]:
    for name, module in model.named_modules():
        for key, value in vars(module).items():
            if key not in _MACHINERY and not key.endswith("_hooks") and not key.startswith(_MARKS):
                yield from _plain_values(f"{name}.{key}", value, set())


def _plain_values(name: str, value: Any, containers: set[int]) -> Iterator[tuple[str, Any]]:
    if type(value) in _PLAIN or _is_tensor(value) or _is_array(value):
        yield name, value
    elif id(value) not in containers:  # else it contains itself
        for key, part in _parts(value):
            yield from _plain_values(f"{name}[{key!r}]", part, containers | {id(value)})


def _parts(value: Any) -> list[tuple[Any, Any]]:
    if isinstance(value, Namespace | SimpleNamespace) or (is_dataclass(value) and hasattr(value, "__dict__")):
        value = vars(value) if not isinstance(value, type) else {}
    if isinstance(value, Mapping):  # sorted: one made from a set has another order in every process
        return sorted((pair for pair in value.items() if type(pair[0]) in _PLAIN), key=lambda pair: repr(pair[0]))
    return list(enumerate(value)) if isinstance(value, list | tuple) else []


def _is_tensor(value: Any) -> bool:
    """Does not import torch: if there is a tensor, torch is imported. Lazy parameters have no values yet."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor) and not hasattr(value, "materialize")


def _is_array(value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray | numpy.generic) and value.dtype.kind in "biufc"


def _stamp(value: Any) -> object:
    """Changes when a value does, and is quicker to compute than a digest."""
    if not _is_tensor(value):
        return type(value), *_bytes(value)
    with suppress(RuntimeError, NotImplementedError):  # sparse, quantised or another format: the id is used
        return value.data_ptr(), value._version, *map(repr, _sums(value.detach()))
    return id(value)


def _sums(tensor: Any) -> Iterator[complex]:
    """The sum of all numbers, and a sum weighted by row and column, which changes when two numbers are swapped."""
    yield complex(tensor.sum())
    if tensor.dim() and not tensor.is_complex():
        wide = tensor if tensor.is_floating_point() and tensor.element_size() > 2 else tensor.double()
        rows = wide.flatten(1) if wide.dim() > 1 else wide[:, None]
        yield complex(_ramp(rows.T) @ (rows @ _ramp(rows)))


def _ramp(rows: Any) -> Any:
    """1, 2, ... for every column."""
    return sys.modules["torch"].arange(1, rows.shape[1] + 1, device=rows.device, dtype=rows.dtype)


def _digest(contents: list[tuple[str, Any]]) -> str:
    digest = hashlib.sha256()
    for name, value in contents:
        digest.update(f"{name} {getattr(value, 'dtype', type(value))} {tuple(getattr(value, 'shape', ()))}".encode())
        for part in _bytes(value):
            digest.update(part)
    return digest.hexdigest()


def _bytes(value: Any) -> Iterator[bytes]:
    if _is_array(value):
        yield value.tobytes()
    elif _is_tensor(value):
        tensor = value.detach().to_dense() if value.layout is not sys.modules["torch"].strided else value.detach()
        tensor = tensor.dequantize() if tensor.is_quantized else tensor
        for part in (tensor.real, tensor.imag) if tensor.is_complex() else (tensor,):
            yield part.cpu().double().contiguous().numpy().tobytes()
    else:
        yield repr(value).encode()
