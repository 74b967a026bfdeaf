"""Nested dictionaries, lists, numbers and tensors as bytes and back, exactly: safetensors, never pickle."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import torch
from safetensors.torch import load, save
from torch import Tensor

_OUTLINE = "outline"  # the name of the tensor that holds the JSON


def encode(tree: Any) -> bytes:
    """The canonical byte string of a tree. TypeError if it holds anything but dictionaries, lists, tuples, tensors,
    numbers, strings and None."""
    tensors: dict[str, Tensor] = {}
    outline = json.dumps(_outlined(tree, tensors)).encode()
    copies = {name: _plain(tensor).clone() for name, tensor in tensors.items()}  # tensors may share memory
    return save({**copies, _OUTLINE: torch.frombuffer(bytearray(outline), dtype=torch.uint8)})


def digest(tree: Any) -> str:
    """sha256 of a tree, in hexadecimal; TypeError as in ``encode``."""
    tensors: dict[str, Tensor] = {}
    hasher = hashlib.sha256(json.dumps(_outlined(tree, tensors)).encode())
    for tensor in tensors.values():
        hasher.update(_plain(tensor).flatten().view(torch.uint8).numpy().data)
    return hasher.hexdigest()


def decode(raw: bytes) -> Any:
    """The tree; tensors get their memory layout and device back."""
    tensors = load(raw)
    return _filled(json.loads(tensors.pop(_OUTLINE).numpy().tobytes()), tensors)


def _outlined(value: Any, tensors: dict[str, Tensor]) -> Any:
    """The tree as JSON; tensors go into ``tensors``. JSON has no tuples or number keys, so containers carry a type."""
    match value:
        case Tensor():
            name = str(len(tensors))
            tensors[name] = value
            about = {"shape": list(value.shape), "type": str(value.dtype), "stride": _stride(value)}
            return {"tensor": name, "device": str(value.device), **about}
        case dict():
            return {"dict": [[_outlined(key, tensors), _outlined(item, tensors)] for key, item in value.items()]}
        case list() | tuple():
            return {type(value).__name__: [_outlined(item, tensors) for item in value]}
        case None | bool() | int() | float() | str():
            return value
        case _:
            raise TypeError(f"{type(value).__name__} cannot be kept in a checkpoint")


def _filled(outline: Any, tensors: dict[str, Tensor]) -> Any:
    match outline:
        case {"tensor": name, "stride": stride, "device": device}:
            flat = tensors[name]
            return torch.empty_strided(flat.shape, stride, dtype=flat.dtype, device=device).copy_(flat)
        case {"dict": items}:
            return {_filled(key, tensors): _filled(item, tensors) for key, item in items}
        case {"list": items}:
            return [_filled(item, tensors) for item in items]
        case {"tuple": items}:
            return tuple(_filled(item, tensors) for item in items)
        case _:
            return outline


def _plain(tensor: Tensor) -> Tensor:
    return tensor.detach().cpu().contiguous()


def _stride(tensor: Tensor) -> list[int]:
    """The tensor's own stride if its numbers lie without gaps, else that of a copy."""
    return list(torch.empty_like(tensor, device="meta").stride())
