"""The same solver in plain tensor operations, for devices other than the CPU: in double precision throughout.

An operator is (N, 3, 3, H, W): the weight of every pixel towards the neighbour one row and column before, at, after it.
All operations are per pixel or sums in a fixed order, so that the bits of a row do not depend on other rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import torch
from torch import Tensor
from torch.nn.functional import pad

MAX_STEPS = 60
COLOURS = tuple(product((0, 1), (0, 1)))


def solve_in_tensors(values: Tensor, removed: Tensor, tolerance: float) -> Tensor:
    """``values`` (N, C, H, W), between 0 and 1 where they are known, with removed ones (N, H, W) replaced.

    Stops when a step changes no pixel by ``tolerance``.
    """
    levels = _levels(removed)
    operator, unknown = levels[0].operator, levels[0].unknown
    solution = torch.where(removed[:, None], 0.5, values.double())
    residual = -_times(_finest(torch.ones_like(unknown)), solution) * unknown
    direction, moving = torch.zeros_like(solution), torch.ones_like(solution[..., :1, :1])
    previous = torch.full_like(moving, torch.inf)
    for _ in range(MAX_STEPS):
        step = _cycle(levels, residual)
        current = _total(residual * step)
        direction = step + (current / previous) * direction
        operator_times_direction = _times(operator, direction)
        curvature = _total(direction * operator_times_direction)
        length = torch.where((moving > 0) & (curvature > 0), current / curvature, 0.0)
        solution, residual = solution + length * direction, residual - length * operator_times_direction
        previous = torch.where(current > 0, current, torch.inf)
        moving = (length * direction.abs().amax(dim=(2, 3), keepdim=True) >= tolerance).double()
        if not moving.any():
            break
    return solution


@dataclass(frozen=True, eq=False)
class Level:
    operator: Tensor  # (N, 3, 3, H, W)
    inverse: Tensor  # (N, 1, H, W) of its diagonal; 0 for a pixel that takes no part
    unknown: Tensor  # (N, 1, H, W) 1 for a pixel that takes part


def _levels(removed: Tensor) -> list[Level]:
    unknown = removed[:, None].double()
    operator = _masked(_finest(torch.ones_like(unknown)), unknown)
    levels = [_level(operator, unknown)]
    while unknown.shape[-2:] != (1, 1):
        operator = _fewer_columns(_transposed(_fewer_columns(_transposed(operator))))
        reach, full_reach = _gather(unknown), _gather(torch.ones_like(unknown))
        unknown = (reach >= full_reach / 2).double()
        operator = _masked(operator, unknown)
        levels.append(_level(operator, unknown))
    return levels


def _level(operator: Tensor, unknown: Tensor) -> Level:
    diagonal = operator[:, 1, 1][:, None]
    return Level(operator, torch.where(diagonal > 0, 1 / diagonal, 0.0), unknown)


def _finest(inside: Tensor) -> Tensor:
    """Weight -2 towards direct and -1 towards diagonal neighbours that exist; rows add up to 0."""
    around = pad(inside[:, 0], (1, 1, 1, 1))
    height, width = inside.shape[-2:]
    weights = [
        [(abs(down) + abs(right) - 3) * around[:, 1 + down :, 1 + right :][:, :height, :width] for right in (-1, 0, 1)]
        for down in (-1, 0, 1)
    ]
    weights[1][1] = torch.zeros_like(inside[:, 0])
    weights[1][1] = -sum((weight for row in weights for weight in row), start=torch.zeros_like(inside[:, 0]))
    return torch.stack([torch.stack(row, dim=1) for row in weights], dim=1)


def _masked(operator: Tensor, unknown: Tensor) -> Tensor:
    """The operator without weights from or towards pixels that do not take part."""
    height, width = unknown.shape[-2:]
    around = pad(unknown[:, 0], (1, 1, 1, 1))
    towards = [[around[:, down:, right:][:, :height, :width] for right in range(3)] for down in range(3)]
    return operator * unknown[:, :, None] * torch.stack([torch.stack(row, dim=1) for row in towards], dim=1)


def _transposed(operator: Tensor) -> Tensor:
    """Rows and columns exchanged."""
    return operator.transpose(1, 2).transpose(3, 4)


def _fewer_columns(operator: Tensor) -> Tensor:
    """P^T A P for half as many columns, where P interpolates between columns."""
    width = operator.shape[-1]
    coarser = (width + 1) // 2
    fine = pad(operator, (1, 3))  # odd columns before the first and after the last, and a column beyond the end
    # A finer column at this distance from an even one is interpolated from these coarser ones, with these weights.
    share = {-2: ((-1, 1.0),), -1: ((-1, 0.5), (0, 0.5)), 0: ((0, 1.0),), 1: ((0, 0.5), (1, 0.5)), 2: ((1, 1.0),)}
    out = operator.new_zeros(*operator.shape[:-1], coarser + 1)
    for offset, towards in product((-1, 0, 1), (-1, 0, 1)):
        column = fine[..., 1 + offset :: 2][..., : coarser + 1][:, :, 1 + towards]
        for target, weight in share[offset + towards]:
            out[:, :, 1 + target] += (1.0 if offset == 0 else 0.5) * weight * column
    last = out[..., -2]
    last[:, :, 1] += last[:, :, 2] + out[..., -1][:, :, 0] + out[..., -1][:, :, 1]
    last[:, :, 2] = 0
    return out[..., :-1]


def _cycle(levels: list[Level], residual: Tensor) -> Tensor:
    """Approximately the inverse of the operator times ``residual``."""
    level, *coarser = levels
    if not coarser:
        return residual * level.inverse
    value = torch.zeros_like(residual)
    for colour in COLOURS:
        value = _smoothed(level, value, residual, colour)
    defect = (residual - _times(level.operator, value)) * level.unknown
    value = value + _spread(_cycle(coarser, _gather(defect)), *residual.shape[-2:]) * level.unknown
    for colour in reversed(COLOURS):
        value = _smoothed(level, value, residual, colour)
    return value


def _smoothed(level: Level, value: Tensor, residual: Tensor, colour: tuple[int, int]) -> Tensor:
    """Pixels of one colour solve their own equations (Gauss-Seidel)."""
    pixels = (..., slice(colour[0], None, 2), slice(colour[1], None, 2))
    value[pixels] += (residual[pixels] - _times(level.operator, value, *colour, every=2)) * level.inverse[pixels]
    return value


def _times(operator: Tensor, values: Tensor, row: int = 0, column: int = 0, every: int = 1) -> Tensor:
    """The operator times ``values`` (N, C, H, W), at every pixel or at every other one."""
    height, width = values.shape[-2:]
    around = pad(values, (1, 1, 1, 1))
    weights = operator[..., row::every, column::every]
    total = torch.zeros_like(values[..., row::every, column::every])
    for down, right in product(range(3), range(3)):
        neighbours = around[..., down + row : down + height : every, right + column : right + width : every]
        total += weights[:, None, down, right] * neighbours
    return total


def _spread(coarser: Tensor, height: int, width: int) -> Tensor:
    return _interpolated(_interpolated(coarser, width).mT, height).mT


def _interpolated(coarser: Tensor, width: int) -> Tensor:
    """Columns in between are means of their two neighbours; the last one is repeated beyond the end."""
    following = torch.cat([coarser[..., 1:], coarser[..., -1:]], dim=-1)
    return torch.stack([coarser, (coarser + following) / 2], dim=-1).flatten(-2)[..., :width]


def _gather(values: Tensor) -> Tensor:
    """The transpose of ``_spread``."""
    return _halved(_halved(values).mT).mT


def _halved(values: Tensor) -> Tensor:
    even, odd = values[..., ::2], values[..., 1::2] / 2
    out = even.clone()
    out[..., : odd.shape[-1]] += odd
    out[..., 1:] += odd[..., : even.shape[-1] - 1]
    if even.shape[-1] == odd.shape[-1]:
        out[..., -1] += odd[..., -1]
    return out


def _total(values: Tensor) -> Tensor:
    """Sums over the image, halves added to halves: (N, C, 1, 1)."""
    flat = values.flatten(2)
    flat = pad(flat, (0, 2 ** (flat.shape[-1] - 1).bit_length() - flat.shape[-1]))
    while flat.shape[-1] > 1:
        first, second = flat.chunk(2, dim=-1)
        flat = first + second
    return flat[..., None]
