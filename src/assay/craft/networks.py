"""The complete hand-set networks: frozen, in evaluation mode, every ReLU a module of its own.

Methods address layers by attribute names, such as ``accumulator.layers.5``. ``forward`` flattens with
``Tensor.flatten``, since hook-based methods (Captum's LRP) have no rule for ``nn.Flatten``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from assay.core.errors import SpecError
from assay.craft.accumulate import Accumulator, multi_color, redundant_weights, single_color
from assay.craft.colors import Color, detector, pixel
from assay.craft.compile import compile_mlp, compile_pixelwise
from assay.craft.layers import linear
from assay.craft.numbers import modulo
from assay.craft.tiling import Side
from assay.craft.wires import source


class PixelModulo(nn.Module):
    """(B, 1, H, W) of 0 and 1 -> (B, 1): the number of ones modulo n."""

    def __init__(self, accumulator: Accumulator, modulo: nn.Sequential) -> None:
        super().__init__()
        self.accumulator = accumulator
        self.modulo = modulo

    def forward(self, x: Tensor) -> Tensor:
        remainder: Tensor = self.modulo(self.accumulator(x).flatten(1))
        return remainder


class PixelCount(nn.Module):
    """(B, 1, H, W) of 0 and 1 -> (B, 1): the number of ones."""

    def __init__(self, accumulator: Accumulator, head: nn.Linear) -> None:
        super().__init__()
        self.accumulator = accumulator
        self.head = head

    def forward(self, x: Tensor) -> Tensor:
        count: Tensor = self.head(self.accumulator(x).flatten(1))
        return count


class ColorCount(nn.Module):
    """(B, 3, H, W) of 0..255 -> (B, N_C): the number of pixels of each colour, a logit each."""

    def __init__(self, detector: nn.Sequential, accumulator: Accumulator, head: nn.Linear) -> None:
        super().__init__()
        self.detector = detector
        self.accumulator = accumulator
        self.head = head

    def forward(self, x: Tensor) -> Tensor:
        counts: Tensor = self.head(self.accumulator(self.detector(x)).flatten(1))
        return counts


def pixel_modulo(side: Side, modulus: int, largest: int, uniform: bool, accumulator_seed: int) -> PixelModulo:
    """Exact for images with at most ``largest`` ones (and up to the next multiple of ``modulus``)."""
    if modulus < 1 or largest < 1:
        raise SpecError(f"modulus={modulus}, largest={largest}: both must be at least 1.")
    count = source(0)
    remainder = compile_mlp([count], [modulo(count, modulus, largest)])
    return PixelModulo(single_color(side, uniform, accumulator_seed), remainder).eval()


def pixel_count(side: Side, uniform: bool, accumulator_seed: int) -> PixelCount:
    """The accumulator of ``pixel_modulo`` with an identity head."""
    return PixelCount(single_color(side, uniform, accumulator_seed), _identity(1)).eval()


def color_count(
    side: Side,
    colors: Sequence[Color],
    background: Color,
    redundant: int,
    uniform: bool,
    weight_seed: int,
    accumulator_seed: int,
    scale: float | Literal["torch"] = 1.0,
) -> ColorCount:
    """``weight_seed`` and ``scale`` set what the ``redundant`` channels add to the counts on unseen colours.

    ``uniform=False`` is the paper's default, "partial non-uniform". Both versions give the same counts.
    """
    weights = redundant_weights(len(colors), redundant, scale, weight_seed)
    detect = compile_pixelwise(pixel(), detector(colors, background, redundant))
    count = multi_color(side, weights, uniform, accumulator_seed)
    return ColorCount(detect, count, _identity(len(colors))).eval()


def _identity(size: int) -> nn.Linear:
    return linear(torch.eye(size), torch.zeros(size))
