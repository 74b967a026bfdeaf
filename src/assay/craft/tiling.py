"""How an accumulator cuts an image into tiles, so that every pixel is counted exactly once.

While more than 3 rows or columns are left: kernel 3, stride 3, padding ``p = -size mod 3``. Conv2d pads both sides by
p, but ``size + p`` is a multiple of 3 and p < 3, so there are ``(size + p) / 3 = ceil(size / 3)`` whole tiles. They
cover the p leading zeros and every pixel once, and never reach the trailing zeros. The last kernel, with stride 1,
covers the 2 or 3 rows and columns that are left.

224 -> 75 -> 25 -> 9 -> 3 -> 1 with paddings 1, 0, 2, 0, 0 (the paper's model); 6 -> 2 -> 1 is the paper's Fig. 12.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor
from torch.nn import functional

from assay.core.errors import SpecError

Pair = tuple[int, int]
Side = int | Pair  # of a square, or (height, width)


@dataclass(frozen=True)
class Step:
    """One convolution of the plan, (height, width) each; ``size`` is what is left after it."""

    kernel: Pair
    stride: Pair
    padding: Pair
    size: Pair


def plan(side: Side) -> list[Step]:
    """The steps that reduce an image to one number: at least two, so that hidden layers exist."""
    height, width = (side, side) if isinstance(side, int) else side
    if min(height, width) < 1 or max(height, width) < 4:
        raise SpecError(f"An image of {height}x{width} is too small to accumulate in steps; 4 pixels are needed.")
    steps: list[Step] = []
    while max(height, width) > 3:
        padding = (-height % 3, -width % 3)
        height, width = -(-height // 3), -(-width // 3)
        steps.append(Step((3, 3), (3, 3), padding, (height, width)))
    return [*steps, Step((height, width), (1, 1), (0, 0), (1, 1))]


def tiles(x: Tensor, step: Step) -> Tensor:
    """The pixels of each tile of a kernel-3 step, (B, C, H, W) -> (B, C, tiles, 9), by padding and reshaping."""
    rows, columns = step.size
    split = _padded(x, step).reshape(*x.shape[:2], rows, 3, columns, 3)
    return split.transpose(3, 4).reshape(*x.shape[:2], rows * columns, 9)


def tile_sums(x: Tensor, step: Step) -> Tensor:
    """The sum of each tile of a kernel-3 step, (B, C, H, W) -> (B, C, tiles)."""
    return functional.avg_pool2d(_padded(x, step), 3, divisor_override=1).flatten(2)


def _padded(x: Tensor, step: Step) -> Tensor:
    top, left = step.padding
    return functional.pad(x, (left, 0, top, 0))  # leading zeros only
