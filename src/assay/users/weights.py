"""Loads a file of weights into a user's model: checkpoints as people publish them, with containers and prefixes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from assay.core.errors import SpecError
from assay.foreign import models
from assay.foreign.arrays import read_all
from assay.foreign.inputs import one_line

CONTAINERS = ("state_dict", "model_state_dict", "model", "net", "network", "weights", "params")
SHOWN = 3  # names of each kind in a message


def load_weights(model: nn.Module, path: str) -> tuple[str, ...]:
    """Load a file's weights into the model itself; sentences say what was unpacked, and which prefix was removed.

    The file is .safetensors, .npz, or torch's format with tensors only.
    """
    container, found = _unpacked(path, _read(path))
    prefix, state = _without_prefix(found, set(model.state_dict()))
    _check_fits(path, model.state_dict(), state)
    try:
        model.load_state_dict(state, strict=False)
    except Exception as error:  # of a model's own hooks
        raise SpecError(f"{path} does not hold the weights of the model: {one_line(error)}.") from error
    notes = [f"The weights are '{container}' of {path}."] if container else []
    others = len(found) - len(state)
    left = f", and {others} others are not the model's" if others else ""
    return (
        *notes,
        *([f"The names in {path} begin with '{prefix}', which the model's do not{left}."] if prefix else []),
    )


def _read(path: str) -> Mapping[str, Any]:
    try:
        if path.endswith(".npz"):
            return {name: torch.from_numpy(array) for name, array in read_all(path).items()}
        with warnings.catch_warnings(action="ignore"):
            found = models.read_state(path)
    except FileNotFoundError:
        raise SpecError(f"there is no file '{path}'.") from None
    except SpecError:
        raise
    except Exception as error:  # three libraries, each with its own errors
        plain = type(error).__name__ != "UnpicklingError"  # torch would advise to load it without protection
        reason = (
            one_line(error)
            if plain
            else "it holds other things than tensors, or is no such file; of a model that was saved whole, save "
            "model.state_dict()"
        )
        raise SpecError(f"{path} does not hold the weights of the model: {reason}.") from error
    if not isinstance(found, Mapping):
        raise SpecError(f"{path} does not hold the weights of the model: it holds {type(found).__name__}.")
    return found


def _unpacked(path: str, found: Mapping[str, Any]) -> tuple[str, dict[str, Tensor]]:
    """The name of the container that holds the weights (empty: none), and the weights."""
    inside = [name for name in CONTAINERS if _is_state(found.get(name))]
    if inside:
        found = found[inside[0]]
    tensors = {name: value for name, value in found.items() if isinstance(value, Tensor)}
    if any(map(torch.is_complex, tensors.values())):
        raise SpecError(f"{path} does not hold the weights of the model: it holds complex numbers.")
    if not tensors:
        raise SpecError(
            f"{path} does not hold the weights of the model: it has {', '.join(map(str, list(found)[:10]))}, and none "
            f"of {', '.join(CONTAINERS)} with tensors."
        )
    return (inside or [""])[0], tensors


def _is_state(value: Any) -> bool:
    return isinstance(value, Mapping) and bool(value) and any(isinstance(part, Tensor) for part in value.values())


def _without_prefix(found: dict[str, Tensor], names: set[str]) -> tuple[str, dict[str, Tensor]]:
    """The weights under the model's names: a prefix is removed where more names fit without it."""
    prefix, state = "", found
    fits = len(names & set(found))
    for candidate in sorted({name[: index + 1] for name in found for index in _dots(name)}, key=len):
        inner = {name.removeprefix(candidate): part for name, part in found.items() if name.startswith(candidate)}
        if len(names & set(inner)) > fits:
            prefix, state, fits = candidate, inner, len(names & set(inner))
    return prefix, state


def _dots(name: str) -> Sequence[int]:
    return [index for index, letter in enumerate(name) if letter == "."][:3]


def _check_fits(path: str, wanted: Mapping[str, Any], state: Mapping[str, Tensor]) -> None:
    """SpecError with the first names that are missing, left over or of another shape."""
    missing = [name for name in wanted if name not in state and not name.endswith("num_batches_tracked")]
    unexpected = [name for name in state if name not in wanted and not name.endswith("num_batches_tracked")]
    shapes = [
        f"{name} ({tuple(state[name].shape)} in the file, {tuple(wanted[name].shape)} in the model)"
        for name in state
        if isinstance(wanted.get(name), Tensor) and state[name].shape != wanted[name].shape
    ]
    listed = (("it lacks", missing), ("it has besides", unexpected), ("of another shape:", shapes))
    problems = [f"{words} {_first(names)}" for words, names in listed if names]
    if problems:
        raise SpecError(f"{path} does not hold the weights of the model: {'; '.join(problems)}.")


def _first(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
