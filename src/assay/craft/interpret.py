"""The same networks computed a second way, without compiled layers: interpreted wires, and accumulators as sums.

This is an independent check. It takes the parameters of ``networks`` and must agree with the network in value and in
gradient, also at kinks. After the first convolution of an accumulator everything is nonnegative, and the later ReLUs
change neither value nor gradient: a sum of nonnegative terms is at a kink only if each of them is 0, and a term that
is 0 has weight 0 or comes from a ReLU that is already closed. So only the ReLUs of the first convolution remain:

single colour: ``count = sum over tiles, i of relu(sum_j w_ij x_j)``
several:       ``count_c = sum over tiles of relu(sum_j C_cj + sum_jr W_crj R_rj)``, j the 9 pixels of a tile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import torch
from torch import Tensor

from assay.craft.accumulate import first_shares, redundant_weights
from assay.craft.colors import Color, detector
from assay.craft.numbers import modulo
from assay.craft.tiling import Side, plan, tiles
from assay.craft.wires import evaluate, source

Interpreted = Callable[[Tensor], Tensor]


def interpret_pixel_count(side: Side, uniform: bool, accumulator_seed: int) -> Interpreted:
    """(B, 1, H, W) -> (B, 1)."""
    first = plan(side)[0]
    weights = first_shares(side, uniform, accumulator_seed).flatten(1)  # (i, 9)

    def count(x: Tensor) -> Tensor:
        return torch.relu(tiles(x, first)[:, 0] @ weights.to(x).T).sum((1, 2))[:, None]  # sum over tiles and i

    return count


def interpret_pixel_modulo(side: Side, modulus: int, largest: int, uniform: bool, accumulator_seed: int) -> Interpreted:
    """(B, 1, H, W) -> (B, 1)."""
    count = interpret_pixel_count(side, uniform, accumulator_seed)
    remainder = [modulo(source(0), modulus, largest)]
    return lambda x: evaluate(remainder, count(x))


def interpret_color_count(
    side: Side,
    colors: Sequence[Color],
    background: Color,
    redundant: int,
    weight_seed: int,
    scale: float | Literal["torch"] = 1.0,
) -> Interpreted:
    """(B, 3, H, W) -> (B, N_C); the same for uniform and non-uniform accumulators."""
    outputs = detector(colors, background, redundant)
    weights = redundant_weights(len(colors), redundant, scale, weight_seed).flatten(2)  # (c, r, 9)
    first = plan(side)[0]

    def count(x: Tensor) -> Tensor:
        detected = tiles(evaluate(outputs, x), first)  # (B, N_C + R, tiles, 9)
        seen, unseen = detected[:, : len(colors)], detected[:, len(colors) :]
        return torch.relu(seen.sum(3) + torch.einsum("crj,brnj->bcn", weights.to(x), unseen)).sum(2)

    return count
