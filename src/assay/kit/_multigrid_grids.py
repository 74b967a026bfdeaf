"""From a grid to the next coarser one and back.

``flat`` holds the coarser grid in its natural order, in the layout of one plane of the finer one. In each direction an
odd pixel lies between two even ones and takes, or gives, half of each; at the end of an even number of pixels the last
has one even neighbour only, and all of its value: the cell beyond the end is made equal to it, or is added to it.
"""

from __future__ import annotations

import numpy as np

from assay.kit._multigrid_compiled import Array, Places, inner
from assay.kit._multigrid_plan import COLUMNS, PLANE, ROWS, STRIDE

ONE, TWO = np.uint64(1), np.uint64(2)


@inner
def gather(cells: Array, start: np.uint64, grid: Places, flat: Array) -> None:
    """``flat`` = colours 0, 1 and 2 of the planes that begin at ``start``: the transpose of ``spread``."""
    stride, plane = grid[STRIDE], grid[PLANE]
    out = stride + ONE
    even, right = start + out, start + out + plane
    left, down = right - ONE, right + plane
    up = down - stride
    half = flat.dtype.type(0.5)
    for k in range((grid[ROWS] + ONE) * stride):
        flat[out + k] = cells[even + k] + half * (
            (cells[left + k] + cells[right + k]) + (cells[up + k] + cells[down + k])
        )


@inner
def gather_last(cells: Array, start: np.uint64, grid: Places, flat: Array) -> None:
    """``flat`` += colour 3."""
    stride, plane = grid[STRIDE], grid[PLANE]
    out = stride + ONE
    low = start + out + plane + plane + plane
    high = low - stride
    quarter = flat.dtype.type(0.25)
    for k in range((grid[ROWS] + ONE) * stride):
        low_two, high_two = cells[low - ONE + k] + cells[low + k], cells[high - ONE + k] + cells[high + k]
        flat[out + k] += quarter * (low_two + high_two)


@inner
def fold(flat: Array, grid: Places) -> None:
    """What was gathered beyond the ends belongs to the last column and row."""
    stride, columns = grid[STRIDE], grid[COLUMNS]
    for row in range(grid[ROWS] + ONE):
        last = (row + ONE) * stride + columns
        flat[last] += flat[last + ONE]
    beyond = (grid[ROWS] + ONE) * stride + ONE
    for k in range(beyond, beyond + columns):
        flat[k - stride] += flat[k]


@inner
def split(flat: Array, grid: Places, cells: Array, start: np.uint64, coarser: Places) -> None:
    """The coarser grid as four planes that begin at ``start``."""
    odd = grid[COLUMNS] // TWO
    for row in range(grid[ROWS]):
        source = (row + ONE) * grid[STRIDE] + ONE
        target = start + TWO * (row % TWO) * coarser[PLANE] + (row // TWO + ONE) * coarser[STRIDE] + ONE
        for k in range(grid[COLUMNS] - odd):
            cells[target + k] = flat[source + k + k]
        target, source = target + coarser[PLANE], source + ONE
        for k in range(odd):
            cells[target + k] = flat[source + k + k]


@inner
def merge(cells: Array, start: np.uint64, coarser: Places, flat: Array, grid: Places) -> None:
    """The natural order again, with the last column and row repeated beyond the ends."""
    odd = grid[COLUMNS] // TWO
    for row in range(grid[ROWS]):
        target = (row + ONE) * grid[STRIDE] + ONE
        source = start + TWO * (row % TWO) * coarser[PLANE] + (row // TWO + ONE) * coarser[STRIDE] + ONE
        for k in range(grid[COLUMNS] - odd):
            flat[target + k + k] = cells[source + k]
        source = source + coarser[PLANE]
        for k in range(odd):
            flat[target + ONE + k + k] = cells[source + k]
        flat[target + grid[COLUMNS]] = flat[target + grid[COLUMNS] - ONE]
    beyond = (grid[ROWS] + ONE) * grid[STRIDE] + ONE
    for k in range(beyond, beyond + grid[STRIDE]):
        flat[k] = flat[k - grid[STRIDE]]


@inner
def spread(flat: Array, grid: Places, cells: Array, start: np.uint64, factor: np.uint64) -> None:
    """Colours 0, 1 and 2 of the planes at ``start`` += those at ``factor`` times ``flat``, between its pixels."""
    stride, plane = grid[STRIDE], grid[PLANE]
    here = stride + ONE
    right, down = here + ONE, here + stride
    even, odd, low = start + here, start + here + plane, start + here + plane + plane
    f_even, f_odd, f_low = factor + here, factor + here + plane, factor + here + plane + plane
    half = flat.dtype.type(0.5)
    for k in range(grid[ROWS] * stride):
        cells[even + k] += cells[f_even + k] * flat[here + k]
        cells[odd + k] += cells[f_odd + k] * (half * (flat[here + k] + flat[right + k]))
        cells[low + k] += cells[f_low + k] * (half * (flat[here + k] + flat[down + k]))


@inner
def spread_last(flat: Array, grid: Places, cells: Array, start: np.uint64, factor: np.uint64) -> None:
    """Colour 3."""
    stride, plane = grid[STRIDE], grid[PLANE]
    here = stride + ONE
    low = here + stride
    last = start + here + plane + plane + plane
    f_last = factor + here + plane + plane + plane
    quarter = flat.dtype.type(0.25)
    for k in range(grid[ROWS] * stride):
        high_two, low_two = flat[here + k] + flat[here + ONE + k], flat[low + k] + flat[low + ONE + k]
        cells[last + k] += cells[f_last + k] * (quarter * (high_two + low_two))
