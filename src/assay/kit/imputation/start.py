"""Writes an image to the planes and back, and makes a first guess of its removed pixels."""

from __future__ import annotations

import numpy as np

from assay.kit.imputation.compiled import SOURCES, Array, Offsets, cached_kernel, finite_kernel, kernel
from assay.kit.imputation.grids import ONE, TWO, fold, gather, gather_last, merge, split, spread, spread_last
from assay.kit.imputation.plan import GAP, HEIGHT, PLANE, SCALE, START, STRIDE, UNKNOWN, VALUE, WIDTH


@cached_kernel
def known_range(values: Array, removed: Array, sources: str = SOURCES) -> tuple[float, float]:
    """The least and the largest known pixel of ``values`` (H, W); NaN where a known pixel is not finite."""
    low, high, infinite = np.inf, -np.inf, 0
    for row in range(values.shape[0]):
        infinite += _infinite(values[row], removed[row])
        least, largest = _known_row_range(values[row], removed[row])
        low, high = min(low, least), max(high, largest)
    return (np.nan, np.nan) if infinite else (low, high)


@kernel
def _infinite(values: Array, removed: Array) -> int:
    count = 0
    for k in range(len(values)):
        count += (not abs(values[k]) < np.inf) & (not removed[k])
    return count


@finite_kernel
def _known_row_range(values: Array, removed: Array) -> tuple[float, float]:
    infinity = values.dtype.type(np.inf)
    low, high = infinity, -infinity
    for k in range(len(values)):
        low = min(low, infinity if removed[k] else values[k])
        high = max(high, -infinity if removed[k] else values[k])
    return float(low), float(high)


@cached_kernel
def load(
    values: Array, removed: Array, low: float, scale: float, image: Array, grid: Offsets, sources: str = SOURCES
) -> None:
    """``image``: the known pixels of ``values`` (H, W), less ``low`` and times ``scale``; removed ones are 0."""
    for row in range(grid[HEIGHT]):
        for side in range(2):
            odd = np.uint64(side)
            position = (TWO * (row % TWO) + odd) * grid[PLANE] + (row // TWO + ONE) * grid[STRIDE] + ONE
            for k in range((grid[WIDTH] + ONE - odd) // TWO):
                value = (values[row, k + k + odd] - low) * scale
                image[position + k] = 0.0 if removed[row, k + k + odd] else value


@cached_kernel
def fill(image: Array, cells: Array, flat: Array, size: np.uint64, grids: Offsets, sources: str = SOURCES) -> None:
    """A guess of the removed pixels of ``image``: means of known ones.

    Coarser grids hold means over growing surroundings, which are interpolated where finer grids lack known pixels.
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


@cached_kernel
def store(
    image: Array, removed: Array, low: float, scale: float, out: Array, grid: Offsets, sources: str = SOURCES
) -> None:
    """Writes the removed pixels of ``out`` (H, W): ``low`` plus ``scale`` times those of ``image``."""
    for row in range(grid[HEIGHT]):
        for side in range(2):
            odd = np.uint64(side)
            position = (TWO * (row % TWO) + odd) * grid[PLANE] + (row // TWO + ONE) * grid[STRIDE] + ONE
            for k in range((grid[WIDTH] + ONE - odd) // TWO):
                value = out.dtype.type(low + image[position + k] * scale)
                current = out[row, k + k + odd]
                out[row, k + k + odd] = value if removed[row, k + k + odd] else current
