"""Compile wires to an ordinary ``nn.Sequential`` of linear layers (or 1x1 convolutions) and ReLU modules.

Schedule: ``relu(body)`` of depth d is a row of layer d; a unit that layer e reads is carried through the layers
between d and e. A carried unit goes through ReLU as well, which changes neither value nor gradient of a relu. It would
change an input: negative values are cut, and the derivative at 0 becomes 0. So an input is never carried; a derivation
that needs a nonnegative input later writes ``relu(x)``. If all outputs are relus, the network ends in a ReLU; if any is
affine, the last layer is linear and has no ReLU.

Channel order: the last layer has one channel per output, in the given order (equal outputs are not merged). The
channels of every earlier layer come in the order in which the rows of the next layer first mention them, from the
first row to the last and within a row in the order in which its terms were written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor, nn

from assay.core.errors import AssayError
from assay.craft.layers import linear, pixelwise
from assay.craft.wires import Unit, Wire

Make = Callable[[Tensor, Tensor], nn.Module]


@dataclass(frozen=True)
class Schedule:
    """``layers[d]`` holds the rows of layer d + 1; ``rectified`` says whether a ReLU ends the last one."""

    layers: tuple[tuple[Wire, ...], ...]
    rectified: bool


def compile_mlp(inputs: Sequence[Wire], outputs: Sequence[Wire]) -> nn.Sequential:
    """A network (B, len(inputs)) -> (B, len(outputs)) of Linear and ReLU modules."""
    return _assemble(inputs, outputs, linear)


def compile_pixelwise(inputs: Sequence[Wire], outputs: Sequence[Wire]) -> nn.Sequential:
    """The same applied at every pixel, (B, n, H, W) -> (B, m, H, W), of 1x1 Conv2d and ReLU modules."""
    return _assemble(inputs, outputs, pixelwise)


def schedule(outputs: Sequence[Wire]) -> Schedule:
    """The rows of every layer, derived from the last layer backwards."""
    if not outputs:
        raise AssayError("Nothing to compile: there are no outputs.")
    units = [wire.unit for wire in outputs]
    ends = [unit for unit in units if unit is not None and unit.depth > 0]
    rectified = len(ends) == len(outputs)
    depth = max((unit.depth for wire in outputs for unit, _ in wire.terms), default=0)
    layers = [tuple(_row(unit, depth) for unit in ends) if rectified else tuple(outputs)]
    for level in range(depth - 1 if rectified else depth, 0, -1):
        layers.append(tuple(_row(unit, level) for unit in _units_in(layers[-1])))
    return Schedule(tuple(reversed(layers)), rectified)


def _row(unit: Unit, level: int) -> Wire:
    """What layer ``level`` computes to provide ``unit``: its body at its own depth, the unit itself at later ones."""
    if isinstance(unit.body, Wire) and unit.depth == level:
        return unit.body
    if isinstance(unit.body, int):
        raise AssayError(
            f"Input {unit.body} is needed after layer {level}, where ReLU would cut its negative values."
            " Use it in the first layer only, or write relu(x) in its place if it is never negative."
        )
    return Wire(((unit, 1.0),), 0.0)


def _units_in(rows: Sequence[Wire]) -> tuple[Unit, ...]:
    return tuple(dict.fromkeys(unit for row in rows for unit, _ in row.terms))


def _assemble(inputs: Sequence[Wire], outputs: Sequence[Wire], make: Make) -> nn.Sequential:
    plan = schedule(outputs)
    modules: list[nn.Module] = [make(*_matrix(plan.layers[0], _input_columns(inputs, plan.layers[0]), len(inputs)))]
    for before, rows in pairwise(plan.layers):
        columns = {unit: column for column, unit in enumerate(_units_in(rows))}
        modules += [nn.ReLU(), make(*_matrix(rows, columns, len(before)))]
    return nn.Sequential(*modules, *([nn.ReLU()] if plan.rectified else []))


def _input_columns(inputs: Sequence[Wire], rows: Sequence[Wire]) -> dict[Unit, int]:
    """The input column of every unit that the first layer reads; twins of one input read the same column."""
    column_of = {
        u.body: column for column, u in enumerate(wire.unit for wire in inputs) if u is not None and u.depth == 0
    }
    needed = _units_in(rows)
    missing = sorted(str(unit.body) for unit in needed if unit.body not in column_of)
    if len(column_of) != len(inputs):
        raise AssayError("The inputs to compile must be source wires, each index once.")
    if missing:
        raise AssayError(
            f"Input {', '.join(missing)} is used but not among the inputs to compile; add source({missing[0]})."
        )
    return {unit: column_of[unit.body] for unit in needed}


def _matrix(rows: Sequence[Wire], columns: dict[Unit, int], width: int) -> tuple[Tensor, Tensor]:
    """Weight (rows, width) and bias (rows,) of one layer."""
    weight = torch.zeros(len(rows), width, dtype=torch.float64)
    for i, row in enumerate(rows):
        for unit, value in row.terms:
            weight[i, columns[unit]] += value
    return _exact(weight), _exact(torch.tensor([row.constant for row in rows], dtype=torch.float64))


def _exact(values: Tensor) -> Tensor:
    single = values.to(torch.float32)
    if not torch.equal(single.double(), values):
        worst = values[single.double() != values][0].item()
        raise AssayError(f"The weight {worst!r} is not a float32 number, so the compiled network would not be exact.")
    return single
