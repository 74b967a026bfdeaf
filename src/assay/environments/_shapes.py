"""Drawn pictures in place of photographs: an object in the middle, before surroundings that tell its class in part."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import interpolate

from assay.core.rng import Draws, Key
from assay.environments._pictures import Photographs

PATCHES = 5  # of background along a side, between which its colours change smoothly
TINT = 0.05  # how far a class shifts the colour of the background
SPREAD = 0.08  # deviation of a picture's own shift of that colour


@dataclass(frozen=True)
class Shapes:
    """An endless source of pictures of ten shapes. Training pictures depend on the training seed.

    Size, place and colour of an object differ from picture to picture. The background's colour depends a little on the
    class, as surroundings do in photographs: without the object, a network can still guess.
    """

    side: int = 32  # pixels

    classes = ("disc", "ring", "square", "frame", "diamond", "triangle", "plus", "cross", "bar across", "bar down")
    colours = ((0.5, 0.5, 0.5), (0.25, 0.25, 0.25))  # mean and deviation of red, green and blue

    def training(self, count: int, seed: int) -> tuple[Tensor, Tensor]:
        """Equally many of each class, up to one."""
        return self._draw([("shapes", "training", seed, index) for index in range(count)], range(count))

    def evaluated(self, indices: Sequence[int], seed: int) -> tuple[Tensor, Tensor]:
        return self._draw([("shapes", "evaluated", seed, index) for index in indices], indices)

    def identities(self, indices: Sequence[int], seed: int) -> list[Hashable]:
        return [(seed, index) for index in indices]

    def _draw(self, keys: Sequence[Key], indices: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Pixels, uint8 (B, 3, side, side), and labels (B,): the class is that of the index, all else of the key."""
        draws, label = Draws(keys), torch.tensor(list(indices)) % len(self.classes)
        inside = self._shapes(draws)[label, torch.arange(len(label))]
        colour, background = self._colours(draws, label)
        picture = torch.where(inside[:, None], colour, background) + 0.04 * draws.normal(3, self.side, self.side)
        return (255 * picture.clamp(0, 1)).round().byte(), label

    def _colours(self, draws: Draws, label: Tensor) -> tuple[Tensor, Tensor]:
        """Of the object (B, 3, 1, 1), and of the background (B, 3, side, side)."""
        angle = 2 * math.pi * (label[:, None] / len(self.classes) + torch.arange(3) / 3)
        own = 0.5 + TINT * angle.cos() + SPREAD * draws.normal(3)
        patches = own[:, :, None, None] + 0.1 * draws.normal(3, PATCHES, PATCHES)
        background = interpolate(patches, (self.side, self.side), mode="bilinear", align_corners=True)
        contrast = (0.25 + 0.2 * draws.uniform(3)) * torch.where(draws.uniform(1) < 0.5, -1.0, 1.0)
        return (own + contrast)[:, :, None, None], background

    def _shapes(self, draws: Draws) -> Tensor:
        """Bool (classes, B, side, side): every shape, at each picture's own position and size."""
        middle = 0.5 + 0.16 * (draws.uniform(2, 1) - 0.5)
        pixels = (torch.arange(self.side) + 0.5) / self.side
        size = 0.24 + 0.1 * draws.uniform(1, 1)
        offset = (pixels - middle) / size  # (B, 2, side): 1 is an object's half width
        down, across = offset[:, 0, :, None].expand(-1, -1, self.side), offset[:, 1, None, :].expand(-1, self.side, -1)
        high, wide = down.abs(), across.abs()
        radius, square, diamond = torch.hypot(down, across), torch.maximum(high, wide), high + wide
        box = square < 1
        return torch.stack(
            [
                radius < 1,
                (radius < 1) & (radius > 0.6),
                square < 0.85,
                (square < 0.95) & (square > 0.6),
                diamond < 1.2,
                (down < 0.8) & (wide < 0.5 * (down + 1)),
                box & (torch.minimum(high, wide) < 0.28),
                box & ((down - across).abs().minimum((down + across).abs()) < 0.4),
                (high < 0.4) & (wide < 1.1),
                (wide < 0.4) & (high < 1.1),
            ]
        )


def picture_source(dataset: str) -> Shapes | Photographs:
    """CIFAR's photographs by the name of the data set, or drawn pictures: shapes."""
    return Shapes() if dataset == "shapes" else Photographs(dataset)
