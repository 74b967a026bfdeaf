"""What an object in memory holds: a model that a module made when it was imported is more than its source."""

from __future__ import annotations

import hashlib
from argparse import Namespace
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from types import SimpleNamespace
from typing import Any
from weakref import WeakKeyDictionary

_known: WeakKeyDictionary[Any, tuple[object, str]] = WeakKeyDictionary()  # what was digested, and its digest
_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_MACHINERY = ("training", "_parameters", "_buffers", "_modules")  # of a torch module, or told otherwise


def numbers_digest(found: Any) -> str:
    """Of a torch module's parameters, buffers and plain attributes, by name; empty for anything else, a class too.

    Attributes are numbers, texts, tensors and arrays, also in lists, dicts, namespaces and dataclasses; what else a
    module holds is not seen.
    """
    if isinstance(found, type) or not callable(getattr(found, "named_parameters", None)):
        return ""
    held = list(_held(found))
    state = tuple((name, _stamp(value)) for name, value in held)
    before, digest = _known.get(found, (None, ""))
    if before != state:
        digest = _digest(held)
        _known[found] = (state, digest)
    return digest


def state(model: Any) -> tuple[object, ...]:
    """Changes when somebody changes a torch module: its parameters and buffers, its mode, its hooks."""
    tensors = (*model.named_parameters(), *model.named_buffers())
    numbers = tuple((name, tensor.requires_grad, _stamp(tensor)) for name, tensor in tensors)
    return numbers, tuple((name, module.training, _hooks(module)) for name, module in model.named_modules())


def _hooks(module: Any) -> int:
    return sum(len(value) for name, value in vars(module).items() if name.endswith("_hooks") and value is not None)


def _held(found: Any) -> Iterator[tuple[str, Any]]:
    """Tensors and plain values with their names."""
    tensors = (*found.named_parameters(), *found.named_buffers())
    yield from (pair for pair in tensors if _is_tensor(pair[1]))
    for name, module in found.named_modules():
        for key, value in vars(module).items():
            if key not in _MACHINERY and not key.endswith("_hooks"):
                yield from _plain(f"{name}.{key}", value, set())


def _plain(name: str, value: Any, within: set[int]) -> Iterator[tuple[str, Any]]:
    if type(value) in _PLAIN or _is_tensor(value) or _is_array(value):
        yield name, value
    elif id(value) not in within:  # else it holds itself
        for key, part in _parts(value):
            yield from _plain(f"{name}[{key!r}]", part, within | {id(value)})


def _parts(value: Any) -> list[tuple[Any, Any]]:
    if isinstance(value, Namespace | SimpleNamespace) or (is_dataclass(value) and hasattr(value, "__dict__")):
        value = vars(value)
    if isinstance(value, Mapping):
        return list(value.items())
    return list(enumerate(value)) if isinstance(value, list | tuple) else []


def _is_tensor(value: Any) -> bool:
    return callable(getattr(value, "detach", None)) and not hasattr(value, "materialize")  # lazy ones hold nothing yet


def _is_array(value: Any) -> bool:
    return getattr(getattr(value, "dtype", None), "kind", "none") in "biufc"


def _stamp(value: Any) -> object:
    """Changes when a value does, and is quicker to find than a digest."""
    if _is_tensor(value) and not value.is_sparse:
        return value.data_ptr(), value._version, complex(value.detach().sum())
    return type(value), *_bytes(value)


def _digest(held: list[tuple[str, Any]]) -> str:
    digest = hashlib.sha256()
    for name, value in held:
        digest.update(f"{name} {getattr(value, 'dtype', type(value))} {tuple(getattr(value, 'shape', ()))}".encode())
        for part in _bytes(value):
            digest.update(part)
    return digest.hexdigest()


def _bytes(value: Any) -> Iterator[bytes]:
    if _is_array(value):
        yield value.tobytes()
    elif _is_tensor(value):
        tensor = value.detach().to_dense()
        for part in (tensor.real, tensor.imag) if tensor.is_complex() else (tensor,):
            yield part.cpu().double().contiguous().numpy().tobytes()
    else:
        yield repr(value).encode()
