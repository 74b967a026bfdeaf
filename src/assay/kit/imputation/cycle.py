"""Conjugate gradients in single precision, with one multigrid cycle as the preconditioner.

A cycle smooths once on the way to the coarsest grid and once on the way back: Gauss-Seidel, colour by colour, in
opposite orders, which keeps the cycle symmetric. On the way down a grid starts from 0. A colour is therefore computed
from earlier colours alone, and its defect comes from later colours alone; colour 3 has none. On the way back every
colour is recomputed, colour 3 first.

A kernel gets a ``row`` of offsets for one colour (plan.py): where the result goes, its factor and the right-hand side b
(0-2), the eight neighbours (3-10: left, right, up, down, four diagonals) and the weights to them (11-18). The result is
factor * (b + weighted sum of neighbours). On the finest grid ("fine") weights are 2 for direct and 1 for diagonal
neighbours, and are not read. Earlier colours lie beside colour 1 ("sides": left and right), in the rows above and below
colour 2 ("rows") and all around colour 3 ("all"); later ones around colour 0 and so on.
"""

from __future__ import annotations

import numpy as np

from assay.kit.imputation.compiled import SOURCES, Array, Offsets, cached_kernel, finite_kernel, kernel
from assay.kit.imputation.grids import ONE, TWO, fold, gather, merge, split, spread
from assay.kit.imputation.plan import (
    CELLS,
    CHANGE,
    DEFECT,
    DIRECTION,
    PLANE,
    RESIDUAL,
    START,
    UNKNOWN,
    VALUE,
)

NEGLIGIBLE = 1e-30  # a squared residual below the resolution of single precision: (1e-15 of the value range)^2


@cached_kernel
def solve(
    image: Array,
    cells: Array,
    flat: Array,
    size: np.uint64,
    grids: Offsets,
    smoothing: Offsets,
    defects: Offsets,
    product: Offsets,
    misfit: Offsets,
    tolerance: float,
    max_steps: int,
    sources: str = SOURCES,
) -> tuple[float, float]:
    """Improve ``image`` until a step changes no pixel by ``tolerance``; the first and last step's changes."""
    count, whole = grids[0, CELLS], TWO * TWO * grids[0, PLANE]
    for colour in range(4):
        _misfit(cells, image, misfit[colour], count)
    change, direction = CHANGE * size, DIRECTION * size
    cells[change : change + whole] = 0
    cells[direction : direction + whole] = 0
    previous, first, last = np.inf, 0.0, 0.0
    for step in range(max_steps):
        _cycle(cells, flat, size, grids, smoothing, defects)
        current = _dot(cells, RESIDUAL * size, VALUE * size, whole)
        if current < NEGLIGIBLE:
            break
        largest = _update_direction(cells, direction, VALUE * size, cells.dtype.type(current / previous), whole)
        curvature = 0.0
        for colour in range(4):
            curvature += _product(cells, product[colour], count)
        if curvature < NEGLIGIBLE:
            break
        length = current / curvature
        _advance(cells, size, cells.dtype.type(length), whole)
        previous, last = current, length * largest
        if step == 0:
            first = last
        if last < tolerance:
            break
    for k in range(whole):
        image[k] += cells[change + k]
    return first, last


@kernel
def _cycle(cells: Array, flat: Array, size: np.uint64, grids: Offsets, smoothing: Offsets, defects: Offsets) -> None:
    """VALUE = approximately the inverse of the operator, times RESIDUAL."""
    last = len(grids) - 1
    for level in range(last):
        grid, coarser = grids[level], grids[level + 1]
        smooth, defect, count = smoothing[level], defects[level], grid[CELLS]
        _scale(cells, smooth[0], count)
        if level == 0:
            _fine_sides(cells, smooth[1], count)
            _fine_rows(cells, smooth[2], count)
            _fine_all(cells, smooth[3], count)
            _fine_all(cells, defect[0], count)
            _fine_rows(cells, defect[1], count)
            _fine_sides(cells, defect[2], count)
        else:
            _coarse_sides(cells, smooth[1], count)
            _coarse_rows(cells, smooth[2], count)
            _coarse_all(cells, smooth[3], count)
            _coarse_all(cells, defect[0], count)
            _coarse_rows(cells, defect[1], count)
            _coarse_sides(cells, defect[2], count)
        gather(cells, DEFECT * size + grid[START], grid, flat)
        fold(flat, grid)
        split(flat, grid, cells, RESIDUAL * size + coarser[START], coarser)
    _scale(cells, smoothing[last, 0], ONE)
    for level in range(last - 1, -1, -1):
        grid, coarser = grids[level], grids[level + 1]
        merge(cells, VALUE * size + coarser[START], coarser, flat, grid)
        spread(flat, grid, cells, VALUE * size + grid[START], UNKNOWN * size + grid[START])
        for colour in range(3, -1, -1):
            if level == 0:
                _fine_all(cells, smoothing[level, colour], grid[CELLS])
            else:
                _coarse_all(cells, smoothing[level, colour], grid[CELLS])


@kernel
def _scale(cells: Array, row: Offsets, count: np.uint64) -> None:
    """No neighbours: the first colour, and the coarsest grid of one pixel."""
    out, factor, b = row[0], row[1], row[2]
    for k in range(count):
        cells[out + k] = cells[factor + k] * cells[b + k]


@kernel
def _fine_sides(cells: Array, row: Offsets, count: np.uint64) -> None:
    out, factor, b, left, right = row[0], row[1], row[2], row[3], row[4]
    for k in range(count):
        direct = cells[left + k] + cells[right + k]
        cells[out + k] = cells[factor + k] * (cells[b + k] + direct + direct)


@kernel
def _fine_rows(cells: Array, row: Offsets, count: np.uint64) -> None:
    out, factor, b, up, down = row[0], row[1], row[2], row[5], row[6]
    ul, ur, dl, dr = row[7], row[8], row[9], row[10]
    for k in range(count):
        direct = cells[up + k] + cells[down + k]
        slanted = (cells[ul + k] + cells[ur + k]) + (cells[dl + k] + cells[dr + k])
        cells[out + k] = cells[factor + k] * (cells[b + k] + direct + direct + slanted)


@kernel
def _fine_all(cells: Array, row: Offsets, count: np.uint64) -> None:
    out, factor, b, left, right, up, down = row[0], row[1], row[2], row[3], row[4], row[5], row[6]
    ul, ur, dl, dr = row[7], row[8], row[9], row[10]
    for k in range(count):
        direct = (cells[left + k] + cells[right + k]) + (cells[up + k] + cells[down + k])
        slanted = (cells[ul + k] + cells[ur + k]) + (cells[dl + k] + cells[dr + k])
        cells[out + k] = cells[factor + k] * (cells[b + k] + direct + direct + slanted)


@kernel
def _coarse_sides(cells: Array, row: Offsets, count: np.uint64) -> None:
    out, factor, b, left, right = row[0], row[1], row[2], row[3], row[4]
    w_left, w_right = row[11], row[12]
    for k in range(count):
        sides = cells[w_left + k] * cells[left + k] + cells[w_right + k] * cells[right + k]
        cells[out + k] = cells[factor + k] * (cells[b + k] + sides)


@kernel
def _coarse_rows(cells: Array, row: Offsets, count: np.uint64) -> None:
    out, factor, b, up, down = row[0], row[1], row[2], row[5], row[6]
    ul, ur, dl, dr = row[7], row[8], row[9], row[10]
    w_up, w_down, w_ul, w_ur, w_dl, w_dr = row[13], row[14], row[15], row[16], row[17], row[18]
    for k in range(count):
        above = cells[w_ul + k] * cells[ul + k] + cells[w_up + k] * cells[up + k] + cells[w_ur + k] * cells[ur + k]
        below = cells[w_dl + k] * cells[dl + k] + cells[w_down + k] * cells[down + k] + cells[w_dr + k] * cells[dr + k]
        cells[out + k] = cells[factor + k] * (cells[b + k] + above + below)


@kernel
def _coarse_all(cells: Array, row: Offsets, count: np.uint64) -> None:
    out, factor, b, left, right, up, down = row[0], row[1], row[2], row[3], row[4], row[5], row[6]
    ul, ur, dl, dr, w_left, w_right = row[7], row[8], row[9], row[10], row[11], row[12]
    w_up, w_down, w_ul, w_ur, w_dl, w_dr = row[13], row[14], row[15], row[16], row[17], row[18]
    for k in range(count):
        sides = cells[w_left + k] * cells[left + k] + cells[w_right + k] * cells[right + k]
        above = cells[w_ul + k] * cells[ul + k] + cells[w_up + k] * cells[up + k] + cells[w_ur + k] * cells[ur + k]
        below = cells[w_dl + k] * cells[dl + k] + cells[w_down + k] * cells[down + k] + cells[w_dr + k] * cells[dr + k]
        cells[out + k] = cells[factor + k] * (cells[b + k] + sides + above + below)


@kernel
def _misfit(cells: Array, image: Array, row: Offsets, count: np.uint64) -> None:
    """RESIDUAL of the image, computed in double precision and stored in single. Neighbours are at 4-11."""
    out, unknown, diagonal, mid, left, right, up, down = row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7]
    ul, ur, dl, dr = row[8], row[9], row[10], row[11]
    for k in range(count):
        direct = (image[left + k] + image[right + k]) + (image[up + k] + image[down + k])
        slanted = (image[ul + k] + image[ur + k]) + (image[dl + k] + image[dr + k])
        neighbours = cells[unknown + k] * (direct + direct + slanted)
        cells[out + k] = neighbours - cells[diagonal + k] * image[mid + k]


@kernel
def _product(cells: Array, row: Offsets, count: np.uint64) -> float:
    """DEFECT = the operator times DIRECTION; returns the dot product of both. Neighbours are at 4-11."""
    out, unknown, diagonal, mid, left, right, up, down = row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7]
    ul, ur, dl, dr = row[8], row[9], row[10], row[11]
    total = cells.dtype.type(0)
    for k in range(count):
        direct = (cells[left + k] + cells[right + k]) + (cells[up + k] + cells[down + k])
        slanted = (cells[ul + k] + cells[ur + k]) + (cells[dl + k] + cells[dr + k])
        value = cells[diagonal + k] * cells[mid + k] - cells[unknown + k] * (direct + direct + slanted)
        cells[out + k] = value
        total += cells[mid + k] * value
    return float(total)


@kernel
def _dot(cells: Array, left: np.uint64, right: np.uint64, count: np.uint64) -> float:
    total = cells.dtype.type(0)
    for k in range(count):
        total += cells[left + k] * cells[right + k]
    return float(total)


@finite_kernel
def _update_direction(
    cells: Array, direction: np.uint64, value: np.uint64, share: np.float32, count: np.uint64
) -> float:
    """DIRECTION = VALUE + ``share`` of the previous DIRECTION; returns its largest entry."""
    largest = cells.dtype.type(0)
    for k in range(count):
        new = cells[value + k] + share * cells[direction + k]
        cells[direction + k] = new
        largest = max(largest, abs(new))
    return float(largest)


@kernel
def _advance(cells: Array, size: np.uint64, length: np.float32, count: np.uint64) -> None:
    """Go ``length`` along DIRECTION; DEFECT holds the operator times DIRECTION."""
    change, residual, direction, product = CHANGE * size, RESIDUAL * size, DIRECTION * size, DEFECT * size
    for k in range(count):
        cells[change + k] += length * cells[direction + k]
        cells[residual + k] -= length * cells[product + k]
