"""The linear system of a mask, on the grid of pixels and on all coarser ones.

On the finest grid a removed pixel's value is the mean of its neighbours, direct ones with weight 2, diagonal ones with
1; the row of the system is multiplied by the sum of those weights that lie in the image, which makes it symmetric. The
system of a coarser grid is that of the finer one between values that lie between coarser pixels (Galerkin); removed
pixels alone move. A coarser pixel takes part where at least half of what it reaches is removed.

Coarsening columns first and rows then keeps every system within the eight neighbours.
"""

from __future__ import annotations

import numpy as np

from assay.kit._multigrid_compiled import SOURCES, Array, Places, entry, inner
from assay.kit._multigrid_grids import ONE, TWO, fold, gather, gather_last, split
from assay.kit._multigrid_plan import (
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


@entry
def build(
    removed: Array,
    cells: Array,
    flat: Array,
    size: np.uint64,
    grids: Places,
    weights: Places,
    least: Array,
    sources: str = SOURCES,
) -> None:
    """Operators of all grids for ``removed`` (H, W), and what ``fill`` needs of it; ``flat`` has room for 16 planes."""
    _load(removed, cells, size, grids[0])
    for colour in range(4):
        _finest(cells, weights[colour], grids[0, CELLS])
    for level in range(1, len(grids)):
        grid, coarser = grids[level - 1], grids[level]
        for parity in range(2):
            _columns(cells, grid[START] + TWO * np.uint64(parity) * grid[PLANE], size, grid, flat[1 + parity :])
        _rows(flat[1:11], grid, flat[11:])
        _active(cells, UNKNOWN * size + grid[START], grid, least, flat[0])
        _masked(flat[11:], flat[0], grid)
        for kind in range(5):
            split(flat[11 + kind], grid, cells, np.uint64(kind) * size + coarser[START], coarser)
        split(flat[0], grid, cells, UNKNOWN * size + coarser[START], coarser)
        _invert(cells, size, coarser)
        _known(cells, size, grid, coarser, flat)


@inner
def _load(removed: Array, cells: Array, size: np.uint64, grid: Places) -> None:
    """The finest grid's mask, diagonal and its inverse, and the weight of known pixels (in DEFECT)."""
    one = cells.dtype.type(1)
    for row in range(grid[HEIGHT]):
        high = (row > 0) + (row < grid[HEIGHT] - ONE)
        for side in range(2):
            odd = np.uint64(side)
            place = grid[START] + (TWO * (row % TWO) + odd) * grid[PLANE] + (row // TWO + ONE) * grid[STRIDE] + ONE
            unknown, known = UNKNOWN * size + place, DEFECT * size + place
            diagonal, inverse = DIAGONAL * size + place, INVERSE * size + place
            inside = cells.dtype.type(4 + 4 * high)
            share = one / inside
            for k in range((grid[WIDTH] + ONE - odd) // TWO):
                value = cells.dtype.type(removed[row, k + k + odd])
                cells[unknown + k] = value
                cells[known + k] = one - value
                cells[diagonal + k] = value * inside
                cells[inverse + k] = value * share
        for column in (np.uint64(0), grid[WIDTH] - ONE):
            wide = (column > 0) + (column < grid[WIDTH] - ONE)
            place = grid[START] + (TWO * (row % TWO) + column % TWO) * grid[PLANE]
            place += (row // TWO + ONE) * grid[STRIDE] + ONE + column // TWO
            weight = cells.dtype.type(2 * high + 2 * wide + high * wide)
            cells[DIAGONAL * size + place] = cells[UNKNOWN * size + place] * weight
            cells[INVERSE * size + place] = cells[UNKNOWN * size + place] / max(weight, one)


@inner
def _finest(cells: Array, row: Places, count: np.uint64) -> None:
    """Weights towards later neighbours."""
    own, right, down, down_right, down_left = row[0], row[1], row[2], row[3], row[4]
    at_right, at_down, at_down_left, at_down_right = row[6], row[8], row[11], row[12]
    for k in range(count):
        one = cells[own + k]
        two = one + one
        cells[right + k] = two * cells[at_right + k]
        cells[down + k] = two * cells[at_down + k]
        cells[down_right + k] = one * cells[at_down_right + k]
        cells[down_left + k] = one * cells[at_down_left + k]


@inner
def _columns(cells: Array, start: np.uint64, size: np.uint64, grid: Places, out: Array) -> None:
    """Rows of one parity, half as many columns: five planes of ``out``, every other one of them."""
    plane, first = grid[PLANE], grid[STRIDE] + ONE
    diagonal, right, down, down_right, down_left = out[0], out[2], out[4], out[6], out[8]
    for one in (diagonal, right, down, down_right, down_left):
        one[:first] = 0
        one[first + grid[CELLS] : plane] = 0
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


@inner
def _rows(half_done: Array, grid: Places, out: Array) -> None:
    """Half as many rows: five planes, in the natural order of the coarser grid."""
    stride, first = grid[STRIDE], grid[STRIDE] + ONE
    half, quarter = out.dtype.type(0.5), out.dtype.type(0.25)
    above = first - stride
    d_even, d_odd, b_even, b_odd = half_done[0], half_done[1], half_done[4], half_done[5]
    diagonal, right, down, down_right, down_left = out[0], out[1], out[2], out[3], out[4]
    for k in range(grid[CELLS] + stride):
        ends = d_odd[first + k] + d_odd[above + k]
        diagonal[first + k] = d_even[first + k] + quarter * ends - (b_even[first + k] + b_odd[above + k])
        down[first + k] = half * (b_even[first + k] + b_odd[first + k]) - quarter * d_odd[first + k]
    r_even, r_odd, se_even, se_odd, sw_even, sw_odd = (
        half_done[2],
        half_done[3],
        half_done[6],
        half_done[7],
        half_done[8],
        half_done[9],
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


@inner
def _active(cells: Array, start: np.uint64, grid: Places, least: Array, mask: Array) -> None:
    """1 for a coarser pixel that reaches ``least`` removed ones, else 0."""
    gather(cells, start, grid, mask)
    gather_last(cells, start, grid, mask)
    fold(mask, grid)
    first = grid[START] // (TWO * TWO)
    for k in range(grid[PLANE]):
        mask[k] = mask[k] >= least[first + k]


@inner
def _masked(planes: Array, mask: Array, grid: Places) -> None:
    """No weight from or towards pixels that do not take part, or that lie outside."""
    first = grid[STRIDE] + ONE
    below = first + grid[STRIDE]
    diagonal, right, down, down_right, down_left = planes[0], planes[1], planes[2], planes[3], planes[4]
    for k in range(grid[CELLS]):
        own = mask[first + k]
        diagonal[first + k] *= own
        right[first + k] *= own * mask[first + ONE + k]
        down[first + k] *= own * mask[below + k]
        down_right[first + k] *= own * mask[below + ONE + k]
        down_left[first + k] *= own * mask[below - ONE + k]


@inner
def _invert(cells: Array, size: np.uint64, grid: Places) -> None:
    zero, one = cells.dtype.type(0), cells.dtype.type(1)
    diagonal, inverse = DIAGONAL * size + grid[START], INVERSE * size + grid[START]
    for k in range(TWO * TWO * grid[PLANE]):
        value = cells[diagonal + k]
        cells[inverse + k] = one / value if value > zero else zero


@inner
def _known(cells: Array, size: np.uint64, grid: Places, coarser: Places, flat: Array) -> None:
    """How much a coarser pixel knows (in DEFECT, at most 1), what is missing to 1, and what brings means down to it."""
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
