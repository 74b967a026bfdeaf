"""Reads several inputs by name: a dict of arrays or tensors, all of whose entries stand in one row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import torch
from torch import Tensor

from assay.core.errors import SpecError, suggest
from assay.core.features import Columns
from assay.users.numbers import floats, numbers_of
from assay.users.phrases import listed, quoted
from assay.users.reading import Reading
from assay.users.rows import Rows


@dataclass(frozen=True, eq=False)
class Input:
    """One of them."""

    name: str
    shape: tuple[int, ...]  # of a row
    dtype: torch.dtype
    is_tensor: bool  # as the user gave it

    @property
    def width(self) -> int:
        return prod(self.shape)

    def features(self) -> list[str]:
        """The name of each entry's feature: a pixel has one for all channels."""
        if not self.shape:
            return [self.name]
        pixels = self.shape[1:] if len(self.shape) == 3 else self.shape
        names = [f"{self.name}[{','.join(map(str, place))}]" for place in _places(pixels)]
        return names * (self.shape[0] if len(self.shape) == 3 else 1)

    def given(self, entries: Tensor) -> Tensor:
        """(B, width) -> (B, *shape), differentiable where the input holds floats."""
        values = entries.reshape(len(entries), *self.shape)
        if self.dtype == torch.bool:
            return values > 0.5
        return values.to(self.dtype) if self.dtype.is_floating_point else values.round().to(self.dtype)


@dataclass(frozen=True)
class Inputs:
    """All inputs, one after the other."""

    each: tuple[Input, ...]
    tensors: bool  # all are given back as tensors

    def given(self, entries: Tensor) -> dict[str, Any]:
        parts = entries.split([one.width for one in self.each], dim=1)
        found = {one.name: one.given(part) for one, part in zip(self.each, parts, strict=True)}
        return {one.name: self._own(one, found[one.name]) for one in self.each}

    def _own(self, one: Input, values: Tensor) -> Any:
        return values if self.tensors or one.is_tensor else values.detach().cpu().numpy()


def read_inputs(data: Mapping[str, Any], reference: Mapping[str, Any] | None, reading: Reading) -> Rows:
    """Rows of several inputs; ``given`` gives dicts back, with shapes and formats as they were."""
    arrays = _arrays("x", data, reading)
    own = next((part.dtype for part in arrays.values() if part.is_floating_point()), reading.format)
    dtype = reading.dtype or reading.otherwise or own
    each = tuple(
        Input(name, tuple(part.shape[1:]), _own_dtype(part, dtype, reading), isinstance(data[name], Tensor))
        for name, part in arrays.items()
    )
    names = [feature for one in each for feature in one.features()]
    features = {name: number for number, name in enumerate(dict.fromkeys(names))}
    groups = tuple(features[name] for name in names)
    others = None if reference is None else _matching(_arrays("reference", reference, reading), arrays)
    shapes = ", ".join(f"{name} {tuple(part.shape)}" for name, part in arrays.items())
    return Rows(
        _joined("x", arrays, dtype),
        Columns(groups, tuple(features)),
        "table",
        given=Inputs(each, reading.tensors).given,
        reference=None if others is None else _joined("reference", others, dtype),
        notes=(f"Several inputs stand in one row, {len(features):,} features: {shapes}.",),
    )


def _places(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    return (tuple(place) for place in torch.cartesian_prod(*map(torch.arange, shape)).reshape(-1, len(shape)).tolist())


def _own_dtype(part: Tensor, dtype: torch.dtype, reading: Reading) -> torch.dtype:
    """Floats reach a torch model in its format."""
    return dtype if part.is_floating_point() and reading.tensors else part.dtype


def _arrays(name: str, data: Mapping[str, Any], reading: Reading) -> dict[str, Tensor]:
    if not data:
        raise SpecError(f"{name} has no inputs.")
    known, unknown = ([key for key in data if (key in reading.inputs) is there] for there in (True, False))
    if known and unknown and "kwargs" not in reading.inputs:
        raise SpecError(
            f"{name} has {quoted(unknown)}, and the model's inputs are {listed(reading.inputs)}: leave out what it "
            f"does not read.{suggest(str(unknown[0]), reading.inputs)}"
        )
    names = [key for key in reading.inputs if key in data] + unknown
    arrays = {key: numbers_of(f"{name}['{key}']", data[key]) for key in names}
    lengths = {key: len(part) if part.dim() else 0 for key, part in arrays.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{key} has {count}" for key, count in lengths.items())
        raise SpecError(f"{name} needs equally many rows in each input: {told}.")
    return arrays


def _matching(reference: dict[str, Tensor], arrays: dict[str, Tensor]) -> dict[str, Tensor]:
    """The reference's inputs in the order of the rows'."""
    shapes, wanted = ({name: tuple(part.shape[1:]) for name, part in parts.items()} for parts in (reference, arrays))
    if shapes != wanted:
        raise SpecError(
            f"reference has inputs {shapes}, and x has {wanted} (by name, the shape of a row): give the same."
        )
    return {name: reference[name] for name in arrays}


def _joined(name: str, arrays: Mapping[str, Tensor], dtype: torch.dtype) -> Tensor:
    return torch.cat(
        [floats(f"{name}['{key}']", part[:, None].flatten(1), dtype) for key, part in arrays.items()], dim=1
    )
