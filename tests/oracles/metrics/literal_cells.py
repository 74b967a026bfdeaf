"""Single deletion as its paper says it: one cell, one pixel, one number at a time, in float64. Nothing of ours."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, sqrt

import numpy as np

Answer = Callable[[np.ndarray], float]
Rectangle = tuple[int, int, int, int]  # first row, row after the last, first column, column after the last


def rectangles(height: int, width: int, rows: int, columns: int) -> list[Rectangle]:
    """The cells of a grid, in reading order; a border between pixels goes to the next whole pixel."""
    found = []
    for row in range(rows):
        for column in range(columns):
            top, bottom = ceil(row * height / rows), ceil((row + 1) * height / rows)
            left, right = ceil(column * width / columns), ceil((column + 1) * width / columns)
            found.append((top, bottom, left, right))
    return found


def cell_attribution(attribution: np.ndarray, cell: Rectangle, transform: str) -> float:
    """The sum over the cell's pixels, channels added up and transformed first; of (C, H, W) or (H, W)."""
    top, bottom, left, right = cell
    channels = attribution[..., top:bottom, left:right].reshape(-1, bottom - top, right - left).tolist()
    total = 0.0
    for row in range(bottom - top):
        for column in range(right - left):
            pixel = sum(channel[row][column] for channel in channels)
            if transform == "abs":
                pixel = abs(pixel)
            elif transform == "relu" and pixel < 0:
                pixel = 0.0
            total += pixel
    return total


def cell_drops(answer: Answer, x: np.ndarray, canvas: np.ndarray, cells: list[Rectangle]) -> list[float]:
    """The answer to the image minus the answer to the image without each cell; images are (C, H, W)."""
    drops = []
    for top, bottom, left, right in cells:
        image = x.copy()
        image[:, top:bottom, left:right] = canvas[:, top:bottom, left:right]
        drops.append(answer(x) - answer(image))
    return drops


def ranks(values: list[float], rounding: float) -> list[float]:
    """1 for the smallest; neighbours no further apart than ``rounding`` are equal, and equals share their mean rank."""
    order = sorted(range(len(values)), key=lambda index: values[index])
    groups: list[list[int]] = []
    for place, index in enumerate(order):
        if place and values[index] - values[order[place - 1]] <= rounding:
            groups[-1].append(place)
        else:
            groups.append([place])
    found = [0.0] * len(values)
    for group in groups:
        for place in group:
            found[order[place]] = sum(group) / len(group) + 1
    return found


def rank_correlation(left: list[float], right: list[float], rounding: float = 1e-12) -> float | None:
    """Spearman's correlation; None where one side is all equal."""
    one, other = ranks(left, rounding), ranks(right, rounding)
    mean = (len(one) + 1) / 2
    product = sum((a - mean) * (b - mean) for a, b in zip(one, other, strict=True))
    spread = sum((a - mean) ** 2 for a in one) * sum((b - mean) ** 2 for b in other)
    return product / sqrt(spread) if spread > 0 else None
