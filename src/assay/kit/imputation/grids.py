"""Transfer from a grid to the next coarser one and back.

``flat`` holds the coarser grid in its natural order, in the layout of one plane of the finer one. Along each axis an
odd pixel lies between two even ones: it takes half of each value, or gives half of its own to each. With an even number
of pixels the last one has a single even neighbour and takes, or gives, the whole value: the cell beyond the end repeats
that neighbour, or is added to it.
"""

from __future__ import annotations

import numpy as np

from assay.kit.imputation.compiled import Array, Offsets, kernel
from assay.kit.imputation.plan import COLUMNS, PLANE, ROWS, STRIDE

ONE, TWO = np.uint64(1), np.uint64(2)


@kernel
def gather(cells: Array, start: np.uint64, grid: Offsets, flat: Array) -> None:
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


@kernel
def gather_last(cells: Array, start: np.uint64, grid: Offsets, flat: Array) -> None:
    """As ``gather``, for colour 3: ``flat`` += its share."""
    stride, plane = grid[STRIDE], grid[PLANE]
    out = stride + ONE
    low = start + out + plane + plane + plane
    high = low - stride
    quarter = flat.dtype.type(0.25)
    for k in range((grid[ROWS] + ONE) * stride):
        low_two, high_two = cells[low - ONE + k] + cells[low + k], cells[high - ONE + k] + cells[high + k]
        flat[out + k] += quarter * (low_two + high_two)


@kernel
def fold(flat: Array, grid: Offsets) -> None:
    """Adds what was gathered beyond the ends to the last column and row."""
    stride, columns = grid[STRIDE], grid[COLUMNS]
    for row in range(grid[ROWS] + ONE):
        last = (row + ONE) * stride + columns
        flat[last] += flat[last + ONE]
    beyond = (grid[ROWS] + ONE) * stride + ONE
    for k in range(beyond, beyond + columns):
        flat[k - stride] += flat[k]


@kernel
def split(flat: Array, grid: Offsets, cells: Array, start: np.uint64, coarser: Offsets) -> None:
    """Writes the coarser grid as four planes that begin at ``start``."""
    odd = grid[COLUMNS] // TWO
    for row in range(grid[ROWS]):
        source = (row + ONE) * grid[STRIDE] + ONE
        target = start + TWO * (row % TWO) * coarser[PLANE] + (row // TWO + ONE) * coarser[STRIDE] + ONE
        for k in range(grid[COLUMNS] - odd):
            cells[target + k] = flat[source + k + k]
        target, source = target + coarser[PLANE], source + ONE
        for k in range(odd):
            cells[target + k] = flat[source + k + k]


@kernel
def merge(cells: Array, start: np.uint64, coarser: Offsets, flat: Array, grid: Offsets) -> None:
    """The inverse of ``split``, with the last column and row repeated beyond the ends."""
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


@kernel
def spread(flat: Array, grid: Offsets, cells: Array, start: np.uint64, factor: np.uint64) -> None:
    """Colours 0, 1 and 2 of the planes at ``start`` += planes at ``factor`` times ``flat``, interpolated."""
    stride, plane = grid[STRIDE], grid[PLANE]
    centre = stride + ONE
    right, down = centre + ONE, centre + stride
    even, odd, low = start + centre, start + centre + plane, start + centre + plane + plane
    f_even, f_odd, f_low = factor + centre, factor + centre + plane, factor + centre + plane + plane
    half = flat.dtype.type(0.5)
    for k in range(grid[ROWS] * stride):
        cells[even + k] += cells[f_even + k] * flat[centre + k]
        cells[odd + k] += cells[f_odd + k] * (half * (flat[centre + k] + flat[right + k]))
        cells[low + k] += cells[f_low + k] * (half * (flat[centre + k] + flat[down + k]))


@kernel
def spread_last(flat: Array, grid: Offsets, cells: Array, start: np.uint64, factor: np.uint64) -> None:
    """As ``spread``, for colour 3."""
    stride, plane = grid[STRIDE], grid[PLANE]
    centre = stride + ONE
    low = centre + stride
    last = start + centre + plane + plane + plane
    f_last = factor + centre + plane + plane + plane
    quarter = flat.dtype.type(0.25)
    for k in range(grid[ROWS] * stride):
        high_two, low_two = flat[centre + k] + flat[centre + ONE + k], flat[low + k] + flat[low + ONE + k]
        cells[last + k] += cells[f_last + k] * (quarter * (high_two + low_two))
