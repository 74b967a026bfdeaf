"""An image in and out of the planes, and a first guess of its removed pixels."""

from __future__ import annotations

import numpy as np

from assay.kit._multigrid_compiled import SOURCES, Array, Places, entry, inner, ordered
from assay.kit._multigrid_grids import ONE, TWO, fold, gather, gather_last, merge, split, spread, spread_last
from assay.kit._multigrid_plan import GAP, HEIGHT, PLANE, SCALE, START, STRIDE, UNKNOWN, VALUE, WIDTH


@entry
def extent(values: Array, removed: Array, sources: str = SOURCES) -> tuple[float, float]:
    """The least and the largest of the known pixels (H, W); not a number where one of them is not finite."""
    low, high, infinite = np.inf, -np.inf, 0
    for row in range(values.shape[0]):
        infinite += _infinite(values[row], removed[row])
        least, largest = _row_extent(values[row], removed[row])
        low, high = min(low, least), max(high, largest)
    return (np.nan, np.nan) if infinite else (low, high)


@inner
def _infinite(values: Array, removed: Array) -> int:
    count = 0
    for k in range(len(values)):
        count += (not abs(values[k]) < np.inf) & (not removed[k])
    return count


@ordered
def _row_extent(values: Array, removed: Array) -> tuple[float, float]:
    most = values.dtype.type(np.inf)
    low, high = most, -most
    for k in range(len(values)):
        low = min(low, most if removed[k] else values[k])
        high = max(high, -most if removed[k] else values[k])
    return float(low), float(high)


@entry
def load(
    values: Array, removed: Array, low: float, scale: float, image: Array, grid: Places, sources: str = SOURCES
) -> None:
    """``image``: the known pixels of ``values`` (H, W), less ``low`` and times ``scale``; removed ones are 0."""
    for row in range(grid[HEIGHT]):
        for side in range(2):
            odd = np.uint64(side)
            place = (TWO * (row % TWO) + odd) * grid[PLANE] + (row // TWO + ONE) * grid[STRIDE] + ONE
            for k in range((grid[WIDTH] + ONE - odd) // TWO):
                value = (values[row, k + k + odd] - low) * scale
                image[place + k] = 0.0 if removed[row, k + k + odd] else value


@entry
def fill(image: Array, cells: Array, flat: Array, size: np.uint64, grids: Places, sources: str = SOURCES) -> None:
    """A guess of the removed pixels of ``image``: means of known ones.

    Means of growing surroundings go to coarser grids, and come back between their pixels where knowledge is missing.
    """
    value, scale, whole = VALUE * size, SCALE * size, TWO * TWO * grids[0, PLANE]
    for k in range(whole):
        cells[value + k] = image[k]
    for level in range(1, len(grids)):
        grid, coarser = grids[level - 1], grids[level]
        gather(cells, value + grid[START], grid, flat)
        gather_last(cells, value + grid[START], grid, flat)
        fold(flat, grid)
        split(flat, grid, cells, value + coarser[START], coarser)
        for k in range(coarser[START], coarser[START] + TWO * TWO * coarser[PLANE]):
            cells[value + k] *= cells[scale + k]
    for level in range(len(grids) - 1, 0, -1):
        grid, coarser = grids[level - 1], grids[level]
        merge(cells, value + coarser[START], coarser, flat, grid)
        missing = (GAP if level > 1 else UNKNOWN) * size + grid[START]
        spread(flat, grid, cells, value + grid[START], missing)
        spread_last(flat, grid, cells, value + grid[START], missing)
    for k in range(whole):
        image[k] += cells[UNKNOWN * size + k] * cells[value + k]


@entry
def store(
    image: Array, removed: Array, low: float, scale: float, out: Array, grid: Places, sources: str = SOURCES
) -> None:
    """Removed pixels of ``out`` (H, W)."""
    for row in range(grid[HEIGHT]):
        for side in range(2):
            odd = np.uint64(side)
            place = (TWO * (row % TWO) + odd) * grid[PLANE] + (row // TWO + ONE) * grid[STRIDE] + ONE
            for k in range((grid[WIDTH] + ONE - odd) // TWO):
                value = out.dtype.type(low + image[place + k] * scale)
                kept = out[row, k + k + odd]
                out[row, k + k + odd] = value if removed[row, k + k + odd] else kept
