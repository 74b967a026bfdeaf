"""The linear system of a mask, on the grid of pixels and on all coarser ones.

On the finest grid a removed pixel's value is the mean of its neighbours, direct ones with weight 2, diagonal ones with
1. Each equation is multiplied by the sum of the weights that lie in the image, which makes the system symmetric. The
unknowns are the removed pixels. A coarser grid's system is the finer one's, restricted to values interpolated from
coarser pixels (Galerkin). A coarser pixel takes part where at least half of what it reaches is removed.

Coarsening columns first and then rows keeps every system within the eight neighbours.
"""

from __future__ import annotations

import numpy as np

from assay.kit.imputation.compiled import SOURCES, Array, Offsets, cached_kernel, kernel
from assay.kit.imputation.grids import ONE, TWO, fold, gather, gather_last, split
from assay.kit.imputation.plan import (
    CELLS,
    COLUMNS,
    DEFECT,
    DIAGONAL,
    GAP,
    HEIGHT,
    INVERSE,
    PLANE,
    ROWS,
    SCALE,
    START,
    STRIDE,
    UNKNOWN,
    WIDTH,
)


@cached_kernel
def build(
    removed: Array,
    cells: Array,
    flat: Array,
    size: np.uint64,
    grids: Offsets,
    weights: Offsets,
    least: Array,
    sources: str = SOURCES,
) -> None:
    """Writes the operators of all grids for ``removed`` (H, W), and planes for ``fill``; ``flat`` holds 16 planes."""
    _load(removed, cells, size, grids[0])
    for colour in range(4):
        _finest(cells, weights[colour], grids[0, CELLS])
    for level in range(1, len(grids)):
        grid, coarser = grids[level - 1], grids[level]
        for parity in range(2):
            _columns(cells, grid[START] + TWO * np.uint64(parity) * grid[PLANE], size, grid, flat[1 + parity :])
        _rows(flat[1:11], grid, flat[11:])
        _active_mask(cells, UNKNOWN * size + grid[START], grid, least, flat[0])
        _masked(flat[11:], flat[0], grid)
        for kind in range(5):
            split(flat[11 + kind], grid, cells, np.uint64(kind) * size + coarser[START], coarser)
        split(flat[0], grid, cells, UNKNOWN * size + coarser[START], coarser)
        _invert(cells, size, coarser)
        _known_shares(cells, size, grid, coarser, flat)


@kernel
def _load(removed: Array, cells: Array, size: np.uint64, grid: Offsets) -> None:
    """Writes the finest grid's mask, diagonal, inverse diagonal, and mask of known pixels (in DEFECT)."""
    one = cells.dtype.type(1)
    for row in range(grid[HEIGHT]):
        high = (row > 0) + (row < grid[HEIGHT] - ONE)  # how many rows lie above and below: 2, or 1 at an edge
        for side in range(2):
            odd = np.uint64(side)
            position = grid[START] + (TWO * (row % TWO) + odd) * grid[PLANE] + (row // TWO + ONE) * grid[STRIDE] + ONE
            unknown, known = UNKNOWN * size + position, DEFECT * size + position
            diagonal, inverse = DIAGONAL * size + position, INVERSE * size + position
            inside = cells.dtype.type(4 + 4 * high)
            share = one / inside
            for k in range((grid[WIDTH] + ONE - odd) // TWO):
                value = cells.dtype.type(removed[row, k + k + odd])
                cells[unknown + k] = value
                cells[known + k] = one - value
                cells[diagonal + k] = value * inside
                cells[inverse + k] = value * share
        for column in (np.uint64(0), grid[WIDTH] - ONE):
            wide = (column > 0) + (column < grid[WIDTH] - ONE)  # the same for columns
            position = grid[START] + (TWO * (row % TWO) + column % TWO) * grid[PLANE]
            position += (row // TWO + ONE) * grid[STRIDE] + ONE + column // TWO
            weight = cells.dtype.type(2 * high + 2 * wide + high * wide)
            cells[DIAGONAL * size + position] = cells[UNKNOWN * size + position] * weight
            cells[INVERSE * size + position] = cells[UNKNOWN * size + position] / max(weight, one)


@kernel
def _finest(cells: Array, row: Offsets, count: np.uint64) -> None:
    """Writes the finest grid's weights towards later neighbours."""
    centre, right, down, down_right, down_left = row[0], row[1], row[2], row[3], row[4]
    at_right, at_down, at_down_left, at_down_right = row[6], row[8], row[11], row[12]
    for k in range(count):
        weight = cells[centre + k]
        double = weight + weight
        cells[right + k] = double * cells[at_right + k]
        cells[down + k] = double * cells[at_down + k]
        cells[down_right + k] = weight * cells[at_down_right + k]
        cells[down_left + k] = weight * cells[at_down_left + k]


@kernel
def _columns(cells: Array, start: np.uint64, size: np.uint64, grid: Offsets, out: Array) -> None:
    """Coarsens the columns of the rows of one parity, into five planes: every other one of ``out``.

    Letters are the finer grid's weights: d diagonal, r right, b below, se and sw along the diagonals. They are those of
    the even column that a coarser pixel is, of the odd one after it, and of the odd one before it (``left``).
    """
    plane, first = grid[PLANE], grid[STRIDE] + ONE
    diagonal, right, down, down_right, down_left = out[0], out[2], out[4], out[6], out[8]
    for plane_out in (diagonal, right, down, down_right, down_left):
        plane_out[:first] = 0
        plane_out[first + grid[CELLS] : plane] = 0
    half, quarter = cells.dtype.type(0.5), cells.dtype.type(0.25)
    d_even, r_even = start + first, start + first + size
    d_odd, r_odd = d_even + plane, r_even + plane
    d_left, r_left = d_odd - ONE, r_odd - ONE
    for k in range(grid[CELLS]):
        ends = cells[d_odd + k] + cells[d_left + k]
        diagonal[first + k] = cells[d_even + k] + quarter * ends - (cells[r_even + k] + cells[r_left + k])
        right[first + k] = half * (cells[r_even + k] + cells[r_odd + k]) - quarter * cells[d_odd + k]
    b_even = r_even + size
    se_even, sw_even = b_even + size, b_even + size + size
    b_odd, se_odd, sw_odd = b_even + plane, se_even + plane, sw_even + plane
    b_left, se_left, sw_left = b_odd - ONE, se_odd - ONE, sw_odd - ONE
    for k in range(grid[CELLS]):
        slanted = (cells[se_even + k] + cells[sw_odd + k]) + (cells[sw_even + k] + cells[se_left + k])
        down[first + k] = cells[b_even + k] + quarter * (cells[b_odd + k] + cells[b_left + k]) + half * slanted
        down_right[first + k] = half * (cells[se_even + k] + cells[se_odd + k]) + quarter * cells[b_odd + k]
        down_left[first + k] = half * (cells[sw_even + k] + cells[sw_left + k]) + quarter * cells[b_left + k]
    for row in range(grid[ROWS]):
        last = (row + ONE) * grid[STRIDE] + grid[COLUMNS]
        diagonal[last] += diagonal[last + ONE] - (right[last] + right[last])
        down[last] += down[last + ONE] + (down_right[last] + down_left[last + ONE])


@kernel
def _rows(columns_done: Array, grid: Offsets, out: Array) -> None:
    """Coarsens the rows, into five planes in the natural order of the coarser grid; letters as in ``_columns``."""
    stride, first = grid[STRIDE], grid[STRIDE] + ONE
    half, quarter = out.dtype.type(0.5), out.dtype.type(0.25)
    above = first - stride
    d_even, d_odd, b_even, b_odd = columns_done[0], columns_done[1], columns_done[4], columns_done[5]
    diagonal, right, down, down_right, down_left = out[0], out[1], out[2], out[3], out[4]
    for k in range(grid[CELLS] + stride):
        ends = d_odd[first + k] + d_odd[above + k]
        diagonal[first + k] = d_even[first + k] + quarter * ends - (b_even[first + k] + b_odd[above + k])
        down[first + k] = half * (b_even[first + k] + b_odd[first + k]) - quarter * d_odd[first + k]
    r_even, r_odd, se_even, se_odd, sw_even, sw_odd = (
        columns_done[2],
        columns_done[3],
        columns_done[6],
        columns_done[7],
        columns_done[8],
        columns_done[9],
    )
    for k in range(grid[CELLS] + stride):
        slanted = (se_even[first + k] + sw_even[first + ONE + k]) + (se_odd[above + k] + sw_odd[above + ONE + k])
        right[first + k] = r_even[first + k] + quarter * (r_odd[first + k] + r_odd[above + k]) + half * slanted
        down_right[first + k] = half * (se_even[first + k] + se_odd[first + k]) + quarter * r_odd[first + k]
        down_left[first + k] = half * (sw_even[first + k] + sw_odd[first + k]) + quarter * r_odd[first - ONE + k]
    last = grid[CELLS] + ONE
    for k in range(last, last + grid[COLUMNS]):
        diagonal[k] += diagonal[k + stride] - (down[k] + down[k])
        right[k] += right[k + stride] + (down_right[k] + down_left[k + ONE])


@kernel
def _active_mask(cells: Array, start: np.uint64, grid: Offsets, least: Array, mask: Array) -> None:
    """``mask`` = 1 for a coarser pixel that reaches at least the weight ``least`` of removed ones, else 0."""
    gather(cells, start, grid, mask)
    gather_last(cells, start, grid, mask)
    fold(mask, grid)
    first = grid[START] // (TWO * TWO)
    for k in range(grid[PLANE]):
        mask[k] = mask[k] >= least[first + k]


@kernel
def _masked(planes: Array, mask: Array, grid: Offsets) -> None:
    """Sets weights from or towards pixels that do not take part, or lie outside, to 0."""
    first = grid[STRIDE] + ONE
    below = first + grid[STRIDE]
    diagonal, right, down, down_right, down_left = planes[0], planes[1], planes[2], planes[3], planes[4]
    for k in range(grid[CELLS]):
        active = mask[first + k]
        diagonal[first + k] *= active
        right[first + k] *= active * mask[first + ONE + k]
        down[first + k] *= active * mask[below + k]
        down_right[first + k] *= active * mask[below + ONE + k]
        down_left[first + k] *= active * mask[below - ONE + k]


@kernel
def _invert(cells: Array, size: np.uint64, grid: Offsets) -> None:
    zero, one = cells.dtype.type(0), cells.dtype.type(1)
    diagonal, inverse = DIAGONAL * size + grid[START], INVERSE * size + grid[START]
    for k in range(TWO * TWO * grid[PLANE]):
        value = cells[diagonal + k]
        cells[inverse + k] = one / value if value > zero else zero


@kernel
def _known_shares(cells: Array, size: np.uint64, grid: Offsets, coarser: Offsets, flat: Array) -> None:
    """Writes the weight of known pixels that a coarser pixel reaches (DEFECT, at most 1), 1 minus it (GAP), and the
    factor that scales sums with a larger weight down to means (SCALE).
    """
    one = cells.dtype.type(1)
    known, gap, scale = flat[0], flat[1], flat[2]
    gather(cells, DEFECT * size + grid[START], grid, known)
    gather_last(cells, DEFECT * size + grid[START], grid, known)
    fold(known, grid)
    for k in range(grid[PLANE]):
        value = known[k]
        known[k], gap[k], scale[k] = min(value, one), one - min(value, one), one / max(value, one)
    split(known, grid, cells, DEFECT * size + coarser[START], coarser)
    split(gap, grid, cells, GAP * size + coarser[START], coarser)
    split(scale, grid, cells, SCALE * size + coarser[START], coarser)
