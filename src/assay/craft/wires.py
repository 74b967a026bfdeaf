"""Wires: the derivation of a hand-set network, as an expression.

A wire is an affine combination ``constant + sum(weight * unit)`` of units; a unit is an input or ``relu(wire)``.
Arithmetic keeps that normal form, so a wire is what one row of a linear layer computes. Two units built the same way
are one unit (``key`` digests the structure, regardless of the order of terms), so shared sub-expressions are computed
once. ``twin`` makes a second unit that computes the same value.

Terms keep the order in which they were written, also those with weight 0: a written zero is a connection that carries
nothing, and ``compile`` keeps it. Wires and units compare by structure, one level deep.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from assay.core.errors import AssayError
from assay.core.records import digest


@dataclass(frozen=True, slots=True)
class Unit:
    """An input (``body`` is its index) or ``relu(body)``; ``depth`` counts the relus on the longest path to it."""

    key: str
    body: Wire | int = field(compare=False, repr=False)
    depth: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class Wire:
    """``constant + sum(weight * unit for unit, weight in terms)``."""

    terms: tuple[tuple[Unit, float], ...]
    constant: float

    def __add__(self, other: Operand) -> Wire:
        return _combine(self, lift(other), 1.0)

    def __sub__(self, other: Operand) -> Wire:
        return _combine(self, lift(other), -1.0)

    def __mul__(self, factor: float) -> Wire:
        return _combine(lift(0), self, float(factor))

    def __radd__(self, other: float) -> Wire:
        return lift(other) + self

    def __rsub__(self, other: float) -> Wire:
        return lift(other) - self

    def __rmul__(self, factor: float) -> Wire:
        return self * factor

    def __neg__(self) -> Wire:
        return self * -1

    @property
    def unit(self) -> Unit | None:
        """The unit, if the wire is a single unit with weight 1 and constant 0; else None."""
        bare = len(self.terms) == 1 and self.terms[0][1] == 1 and self.constant == 0
        return self.terms[0][0] if bare else None


Operand = Wire | int | float


def _combine(a: Wire, b: Wire, factor: float) -> Wire:
    """``a + factor * b``."""
    weights = dict(a.terms)
    for unit, weight in b.terms:
        weights[unit] = weights.get(unit, 0.0) + factor * weight
    return Wire(tuple(weights.items()), a.constant + factor * b.constant)


def lift(x: Operand) -> Wire:
    """A wire unchanged; a number as a constant wire."""
    return x if isinstance(x, Wire) else Wire((), float(x) + 0.0)  # + 0.0: the constant -0.0 is 0.0


def source(index: int) -> Wire:
    """Input number ``index``."""
    if index < 0:
        raise AssayError(f"source({index}): inputs are numbered from 0.")
    return _wire(Unit(digest(["source", index]), index, 0))


def relu(x: Operand) -> Wire:
    """``max(x, 0)``, with derivative 0 at 0."""
    body = lift(x)
    terms = sorted([unit.key, weight] for unit, weight in body.terms)
    depth = 1 + max((unit.depth for unit, _ in body.terms), default=0)
    return _wire(Unit(digest(["relu", terms, body.constant]), body, depth))


def twin(wire: Wire, label: str) -> Wire:
    """The same value from separate units: nothing built on a twin is shared with what is built on the original.

    Only the units in ``wire`` itself are doubled; the units below them stay shared. The twin of an input reads the same
    input.
    """
    return replace(wire, terms=tuple((replace(u, key=digest([u.key, label])), w) for u, w in wire.terms))


def _wire(unit: Unit) -> Wire:
    return Wire(((unit, 1.0),), 0.0)


def reachable(wires: Iterable[Wire]) -> list[Unit]:
    """Every unit that the wires depend on, once, after the units it depends on."""
    units: dict[Unit, None] = {}
    pending = list(wires)
    while pending:
        fresh = [unit for unit, _ in pending.pop().terms if unit not in units]
        units.update(dict.fromkeys(fresh))
        pending += [unit.body for unit in fresh if isinstance(unit.body, Wire)]
    return sorted(units, key=lambda unit: unit.depth)


def evaluate(wires: Wire | Sequence[Wire], inputs: Tensor) -> Tensor:
    """Interpret wires on ``inputs`` (B, n, ...): (B, ...) for one wire, (B, m, ...) for a sequence of m."""
    sequence = [wires] if isinstance(wires, Wire) else list(wires)
    values: dict[Unit, Tensor] = {}
    for unit in reachable(sequence):
        body = unit.body
        values[unit] = inputs[:, body] if isinstance(body, int) else torch.relu(_affine(body, values, inputs))
    results = [_affine(wire, values, inputs) for wire in sequence]
    return results[0] if isinstance(wires, Wire) else torch.stack(results, dim=1)


def _affine(wire: Wire, values: dict[Unit, Tensor], inputs: Tensor) -> Tensor:
    total = torch.full_like(inputs[:, 0], wire.constant)
    for unit, weight in wire.terms:
        total = torch.add(total, values[unit], alpha=weight)
    return total
