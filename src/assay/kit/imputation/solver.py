"""Imputes one image after another with the compiled kernels: buffers and accuracy."""

from __future__ import annotations

from math import isfinite

import numpy as np

from assay.kit.imputation.compiled import Array
from assay.kit.imputation.cycle import solve
from assay.kit.imputation.operator import build
from assay.kit.imputation.plan import KINDS, PLANE, plan
from assay.kit.imputation.start import fill, known_range, load, store

TOLERANCE = 4e-4  # of the value range: after a step that changes less, the error is below 1e-3; largest seen: 4.4e-4
FEW_KNOWN = 1 / 64  # of the pixels: with fewer, steps may be small far from the solution, and one round too few
FEW_KNOWN_TOLERANCE = 4e-5  # with so few, the last round is one whose first step changes less
DOUBLE_TOLERANCE = 1e-11  # in float64, the last round is one whose first step changes less
GAIN = 1e-3  # a round's tolerance, relative to the last change of the round before
MOST_STEPS = 20  # in a round
MOST_ROUNDS = 10


class Solver:
    """For images of one size. Buffers are reused from image to image; each image writes all that it reads."""

    def __init__(self, height: int, width: int) -> None:
        self.plan = plan(height, width)
        cells = int(self.plan.grids[0, PLANE])
        self.cells = np.zeros(KINDS * int(self.plan.size), dtype=np.float32)
        self.flat = np.zeros((16, cells), dtype=np.float32)
        self.image = np.zeros(4 * cells)

    def __call__(self, values: Array, removed: Array) -> None:
        """Write the removed pixels (H, W) of ``values`` (C, H, W)."""
        plan = self.plan
        few = removed.size - int(removed.sum()) < FEW_KNOWN * removed.size
        build(removed, self.cells, self.flat, plan.size, plan.grids, plan.weights, plan.least)
        for channel in values:
            low, high = known_range(channel, removed)
            if not isfinite(high - low):  # it would stay in the buffers
                raise ValueError("needs known pixels that are finite, and so is the range of their values")
            if high - low > np.finfo(np.float64).tiny:
                load(channel, removed, low, 1 / (high - low), self.image, plan.grids[0])
                fill(self.image, self.cells, self.flat[0], plan.size, plan.grids)
                self._solve(
                    DOUBLE_TOLERANCE if channel.dtype == np.float64 else FEW_KNOWN_TOLERANCE if few else TOLERANCE
                )
                store(self.image, removed, low, high - low, channel, plan.grids[0])
            else:
                channel[removed] = low

    def _solve(self, goal: float) -> None:
        """Solve in rounds: each corrects in single precision a residual computed in double precision."""
        plan, tolerance = self.plan, TOLERANCE
        tables = (plan.smoothing, plan.defects, plan.product, plan.misfit)
        for _ in range(MOST_ROUNDS if goal < TOLERANCE else 1):
            first, last = solve(
                self.image, self.cells, self.flat[0], plan.size, plan.grids, *tables, tolerance, MOST_STEPS
            )
            if not isfinite(first + last):
                for planes in (self.cells, self.flat, self.image):
                    planes.fill(0)  # else infinite values would stay in them
                raise ArithmeticError("imputation did not converge on a mask: please report it")
            if first < goal:
                break
            tolerance = max(GAIN * last, goal / 10)
