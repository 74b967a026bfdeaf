"""Accumulators: convolutions that add up all pixels of each channel (App. C.2).

Uniform: one all-ones convolution per step of the plan (craft/tiling.py). Non-uniform: a block of two convolutions per
step. The first has three kernels i per channel, with weight ``w_ij`` at position j, and gives three partial counts. The
second (1x1, weights ``m_i = 1``) adds them. A pixel counts once, because ``sum_i w_ij m_i = 1`` at every position j.
ReLU follows every convolution, hence ``w_ij >= 0``.

Several channels never mix: channel c feeds expansion channels 3c, 3c+1, 3c+2 only. Convolutions are dense all the
same (zeros elsewhere) and have biases (0), as in the paper's parameter counts.

All weights lie on the grid 2^-8. On whole-number inputs every partial sum is then exact in float32 as long as a count
stays below 2^16. Redundant channels break whole numbers: on unseen colours a count is a real number on the grid 2^-8,
which uniform accumulators still add exactly (sums below 2^16) and non-uniform ones to a relative error of about 1e-7
per layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Literal

import torch
from torch import Generator, Tensor, nn

from assay.core.errors import SpecError
from assay.core.rng import generator
from assay.craft.layers import convolution, pixelwise
from assay.craft.tiling import Pair, Side, Step, plan

GRID = 256
EXPANSION = 3


class Accumulator(nn.Module):
    """(B, C, H, W) -> (B, N, 1, 1), as one Sequential ``layers`` of Conv2d and ReLU modules."""

    def __init__(self, modules: Sequence[nn.Module]) -> None:
        super().__init__()
        self.layers = nn.Sequential(*modules)

    def forward(self, x: Tensor) -> Tensor:
        total: Tensor = self.layers(x)
        return total


def layer_hints(model: nn.Module, **blocks: tuple[int, Literal["first", "last"]]) -> dict[str, str]:
    """Names of layers for methods that need one; empty if the model has no accumulator.

    A layer is the ReLU after the first or last convolution of a block, which are the same in a uniform block. If the
    accumulator has too few blocks, it is the last block but one: the last leaves a single pixel.
    """
    parts = ((name, part) for name, part in model.named_modules() if isinstance(part, Accumulator))
    name, part = next(parts, ("", None))
    return {} if part is None else {hint: f"{name}.layers.{_relu(part, *block)}" for hint, block in blocks.items()}


def _relu(accumulator: Accumulator, block: int, convolution: str) -> int:
    layers = list(accumulator.layers)
    starts = [i for i, layer in enumerate(layers) if isinstance(layer, nn.Conv2d) and layer.kernel_size != (1, 1)]
    block = min(block, len(starts) - 2)
    relus = [i for i in range(starts[block], starts[block + 1]) if isinstance(layers[i], nn.ReLU)]
    return relus[0] if convolution == "first" else relus[-1]


def single_color(side: Side, uniform: bool, seed: int) -> Accumulator:
    """Counts the single channel. Modules per step: 3x3, ReLU; if non-uniform also 1x1, ReLU."""
    return Accumulator(_blocks(plan(side), 1, uniform, seed)).eval()


def multi_color(side: Side, redundant: Tensor, uniform: bool, seed: int) -> Accumulator:
    """Counts N_C channels; ``redundant`` (N_C, R, 3, 3) weighs the R channels after them into each count.

    They enter in the first convolution only, which is uniform over the colours in both versions (hence "partial
    non-uniform"): ``relu(sum of the tile's pixels of channel c + sum_r of redundant[c, r] * redundant channel r)``.
    """
    first, *rest = plan(side)
    colors = len(redundant)
    weight = torch.cat([_block_diagonal([torch.ones(1, *first.kernel)] * colors), redundant], dim=1)
    return Accumulator(_convolve(weight, first) + _blocks(rest, colors, uniform, seed)).eval()


def redundant_weights(colors: int, redundant: int, scale: float | Literal["torch"], seed: int) -> Tensor:
    """(N_C, R, 3, 3), uniform in -scale..scale, rounded to the grid.

    "torch" is PyTorch's default range of a convolution's weights, ``1 / sqrt(fan_in)``, ``fan_in = 9 (N_C + R)``.
    """
    if isinstance(scale, str) and scale != "torch":
        raise SpecError(f"scale={scale!r}: a number, or 'torch' for PyTorch's default range.")
    bound = 1 / sqrt(9 * (colors + redundant)) if isinstance(scale, str) else scale
    draw = torch.rand(colors, redundant, 3, 3, generator=generator("redundant", seed), dtype=torch.float64)
    return torch.round((2 * draw - 1) * bound * GRID).div(GRID).float()


def shares(kernel: Pair, stream: Generator) -> Tensor:
    """(3, height, width): ``w_ij >= 0`` on the grid with ``sum_i w_ij = 1``.

    Dirichlet(1, 1, 1) at each position j (exponentials over their sum); all but the last rounded down, the last is
    1 minus the rest.
    """
    exponential = -torch.log1p(-torch.rand(EXPANSION, *kernel, generator=stream, dtype=torch.float64))
    dirichlet = exponential / exponential.sum(0)
    first = torch.floor(dirichlet[:-1] * GRID) / GRID
    return torch.cat([first, 1 - first.sum(0, keepdim=True)]).float()


def first_shares(side: Side, uniform: bool, seed: int) -> Tensor:
    """The w_ij of the first step of ``single_color``, (3 or 1, 3, 3)."""
    kernel = plan(side)[0].kernel
    return torch.ones(1, *kernel) if uniform else shares(kernel, generator("accumulator", seed))


def _blocks(steps: Sequence[Step], channels: int, uniform: bool, seed: int) -> list[nn.Module]:
    stream = generator("accumulator", seed)
    return [module for step in steps for module in _block(step, channels, None if uniform else stream)]


def _block(step: Step, channels: int, stream: Generator | None) -> list[nn.Module]:
    """The modules of one step; non-uniform if there is a stream to draw from."""
    if stream is None:
        return _convolve(_block_diagonal([torch.ones(1, *step.kernel)] * channels), step)
    split = _convolve(_block_diagonal([shares(step.kernel, stream) for _ in range(channels)]), step)
    join = pixelwise(torch.eye(channels).repeat_interleave(EXPANSION, dim=1), torch.zeros(channels))  # m_i = 1
    return [*split, join, nn.ReLU()]


def _convolve(weight: Tensor, step: Step) -> list[nn.Module]:
    return [convolution(weight, torch.zeros(len(weight)), step.stride, step.padding), nn.ReLU()]


def _block_diagonal(kernels: Sequence[Tensor]) -> Tensor:
    """Kernels (e, h, w), one entry per channel, as one weight (channels * e, channels, h, w) that mixes no channels."""
    weight = torch.zeros(len(kernels), len(kernels), *kernels[0].shape)  # (out channel, in channel, e, h, w)
    for channel, kernel in enumerate(kernels):
        weight[channel, channel] = kernel
    return weight.transpose(1, 2).flatten(0, 1)
