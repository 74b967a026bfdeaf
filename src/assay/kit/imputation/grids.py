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
    """``flat`` = colours 0, 1 and 2 of the planes that begin at ``start``: the transpose of ``spread``.

    A coarser pixel is a pixel of colour 0: it gets that value, and half of its four neighbours of colours 1 and 2.
    """
    stride, plane = grid[STRIDE], grid[PLANE]
    first = stride + ONE  # the first pixel of a plane, after the empty row and cell
    even, right = start + first, start + first + plane
    left, down = right - ONE, right + plane
    up = down - stride
    half = flat.dtype.type(0.5)
    for k in range((grid[ROWS] + ONE) * stride):
        flat[first + k] = cells[even + k] + half * (
            (cells[left + k] + cells[right + k]) + (cells[up + k] + cells[down + k])
        )


@kernel
def gather_last(cells: Array, start: np.uint64, grid: Offsets, flat: Array) -> None:
    """As ``gather``, for colour 3: ``flat`` += a quarter of the four neighbours along the diagonals."""
    stride, plane = grid[STRIDE], grid[PLANE]
    first = stride + ONE
    below = start + first + plane + plane + plane
    above = below - stride
    quarter = flat.dtype.type(0.25)
    for k in range((grid[ROWS] + ONE) * stride):
        two_below, two_above = cells[below - ONE + k] + cells[below + k], cells[above - ONE + k] + cells[above + k]
        flat[first + k] += quarter * (two_below + two_above)


@kernel
def fold(flat: Array, grid: Offsets) -> None:
    """Adds what ``gather`` put beyond the ends to the last column and row."""
    stride, columns = grid[STRIDE], grid[COLUMNS]
    for row in range(grid[ROWS] + ONE):
        last = (row + ONE) * stride + columns
        flat[last] += flat[last + ONE]
    beyond = (grid[ROWS] + ONE) * stride + ONE
    for k in range(beyond, beyond + columns):
        flat[k - stride] += flat[k]


@kernel
def split(flat: Array, grid: Offsets, cells: Array, start: np.uint64, coarser: Offsets) -> None:
    """Writes the coarser grid from ``flat`` into four planes that begin at ``start``, one per colour."""
    odd = grid[COLUMNS] // TWO  # number of odd columns
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
    """Colours 0, 1 and 2 of the planes at ``start`` += planes at ``factor`` times ``flat``, interpolated.

    Colour 1 lies between two coarser pixels of a row, colour 2 between two of a column.
    """
    stride, plane = grid[STRIDE], grid[PLANE]
    first = stride + ONE
    right, down = first + ONE, first + stride
    colour_0, colour_1, colour_2 = start + first, start + first + plane, start + first + plane + plane
    factor_0, factor_1, factor_2 = factor + first, factor + first + plane, factor + first + plane + plane
    half = flat.dtype.type(0.5)
    for k in range(grid[ROWS] * stride):
        cells[colour_0 + k] += cells[factor_0 + k] * flat[first + k]
        cells[colour_1 + k] += cells[factor_1 + k] * (half * (flat[first + k] + flat[right + k]))
        cells[colour_2 + k] += cells[factor_2 + k] * (half * (flat[first + k] + flat[down + k]))


@kernel
def spread_last(flat: Array, grid: Offsets, cells: Array, start: np.uint64, factor: np.uint64) -> None:
    """As ``spread``, for colour 3, which lies between four coarser pixels."""
    stride, plane = grid[STRIDE], grid[PLANE]
    first = stride + ONE
    below = first + stride
    colour_3 = start + first + plane + plane + plane
    factor_3 = factor + first + plane + plane + plane
    quarter = flat.dtype.type(0.25)
    for k in range(grid[ROWS] * stride):
        two_above, two_below = flat[first + k] + flat[first + ONE + k], flat[below + k] + flat[below + ONE + k]
        cells[colour_3 + k] += cells[factor_3 + k] * (quarter * (two_above + two_below))
