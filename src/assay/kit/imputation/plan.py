"""The memory layout: one buffer holds all planes of all grids, and tables hold the offsets that kernels use.

A grid of pixels is kept as four planes, one per parity of row and column ("colour" 2 * (row % 2) + column % 2), so that
all neighbours of a colour's pixels lie in other planes, in the same order. A plane has ``stride`` cells per row: its
columns and one empty cell that serves as the border of this row and of the next; an empty row lies above and below.
Kernels treat a plane as one long row: empty cells have no weight and stay 0.

The next coarser grid consists of colour 0, in the natural order of its rows and columns; the coarsest is one pixel.
Offsets are unsigned: for signed ones numba checks at every pixel whether they count from the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

KINDS = 15  # of planes in every grid: the operator (diagonal, weights to later neighbours, inverse diagonal), the mask,
DIAGONAL, RIGHT, DOWN, DOWN_RIGHT, DOWN_LEFT, INVERSE, UNKNOWN = map(np.uint64, range(7))
ZEROS, CHANGE, RESIDUAL, VALUE, DEFECT, DIRECTION, SCALE, GAP = map(np.uint64, range(7, KINDS))  # zeros, vectors

HEIGHT, WIDTH, ROWS, COLUMNS, STRIDE, PLANE, START, CELLS = range(8)  # columns of ``grids``

# Row and column of each neighbour, and the kind that holds the weight towards it.
NEIGHBOURS = (
    (0, -1, RIGHT),
    (0, 1, RIGHT),
    (-1, 0, DOWN),
    (1, 0, DOWN),
    (-1, -1, DOWN_RIGHT),
    (-1, 1, DOWN_LEFT),
    (1, -1, DOWN_LEFT),
    (1, 1, DOWN_RIGHT),
)


@dataclass(frozen=True, eq=False)
class Plan:
    """Offsets for images of one size. Tables have a row per colour: its planes, its neighbours, the weights to them."""

    grids: NDArray[np.uint64]  # (levels, 8)
    smoothing: NDArray[np.uint64]  # (levels, 4, 19)
    defects: NDArray[np.uint64]  # (levels, 4, 19)
    product: NDArray[np.uint64]  # (4, 20) the finest operator times the direction
    misfit: NDArray[np.uint64]  # (4, 20) the finest residual of an image, which has a buffer of its own
    weights: NDArray[np.uint64]  # (4, 21) the finest operator itself
    least: NDArray[np.float32]  # half of what a coarser pixel reaches, in natural order, one grid after the other
    size: np.uint64  # cells of one kind


@lru_cache(maxsize=16)
def plan(height: int, width: int) -> Plan:
    grids = _grids(height, width)
    size = grids[-1][START] + 4 * grids[-1][PLANE]

    def table(level: int, planes: tuple[np.uint64, ...], source: np.uint64) -> list[list[int]]:
        return [_row(grids[level], size, colour, planes, source) for colour in range(4)]

    levels = range(len(grids))
    image = np.uint64(0)
    return Plan(
        grids=np.array(grids, dtype=np.uint64),
        smoothing=_table([table(level, (VALUE, INVERSE, RESIDUAL), VALUE) for level in levels]),
        defects=_table([table(level, (DEFECT, UNKNOWN, ZEROS), VALUE) for level in levels]),
        product=_table(table(0, (DEFECT, UNKNOWN, DIAGONAL, DIRECTION), DIRECTION)),
        misfit=_table(table(0, (RESIDUAL, UNKNOWN, DIAGONAL, image), image)),
        weights=_table(table(0, (UNKNOWN, RIGHT, DOWN, DOWN_RIGHT, DOWN_LEFT), UNKNOWN)),
        least=np.concatenate([_least(grid) for grid in grids]),
        size=np.uint64(size),
    )


def _table(rows: list[Any]) -> NDArray[np.uint64]:
    return np.array(rows, dtype=np.uint64)


def _grids(height: int, width: int) -> list[tuple[int, ...]]:
    grids: list[tuple[int, ...]] = []
    start = 0
    while not grids or grids[-1][:2] != (1, 1):
        rows, columns = (height + 1) // 2, (width + 1) // 2
        stride = columns + 1
        plane = (rows + 2) * stride + 2
        grids.append((height, width, rows, columns, stride, plane, start, rows * stride))
        height, width, start = rows, columns, start + 4 * plane
    return grids


def _row(grid: tuple[int, ...], size: int, colour: int, planes: tuple[np.uint64, ...], source: np.uint64) -> list[int]:
    """Offsets of a colour's first pixel in ``planes``, of its neighbours in ``source``, and of the weights to them."""
    row, column = divmod(colour, 2)

    def position(kind: np.uint64, down: int, right: int) -> int:
        (rows, high), (columns, wide) = divmod(row + down, 2), divmod(column + right, 2)
        plane = int(kind) * size + grid[START] + (2 * high + wide) * grid[PLANE]
        return plane + (rows + 1) * grid[STRIDE] + columns + 1

    def weight(down: int, right: int, kind: np.uint64) -> int:
        # A weight is stored at the earlier of the two pixels.
        return position(kind, 0, 0) if (down, right) > (0, 0) else position(kind, down, right)

    neighbours = [position(source, down, right) for down, right, _ in NEIGHBOURS]
    return [position(kind, 0, 0) for kind in planes] + neighbours + [weight(*neighbour) for neighbour in NEIGHBOURS]


def _least(grid: tuple[int, ...]) -> NDArray[np.float32]:
    """Half the total weight of the finer pixels that a coarser one reaches, in the layout of a plane; elsewhere inf."""
    weights = np.full((grid[ROWS] + 2, grid[STRIDE]), np.inf, dtype=np.float32)
    down, across = _reach(grid[HEIGHT], grid[ROWS]), _reach(grid[WIDTH], grid[COLUMNS])
    weights[1:-1, :-1] = np.outer(down, across) / 2
    return np.pad(weights.ravel(), 1, constant_values=np.inf)


def _reach(pixels: int, coarser: int) -> NDArray[np.float64]:
    weights = np.full(coarser, 2.0)
    weights[0] -= 0.5
    weights[-1] += 0.5 if pixels % 2 == 0 else -0.5
    return weights
