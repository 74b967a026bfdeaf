"""Small colour pictures drawn on the spot, for places without data files: bars across, bars down and discs."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import torch
from torch import Tensor

from assay.core.rng import Draws, Key


class Drawn:
    """A source of pictures without end; training pictures depend on the training seed."""

    side = 12
    classes = ("bar across", "bar down", "disc")
    colours = ((0.3, 0.3, 0.3), (0.25, 0.25, 0.25))

    def training(self, count: int, seed: int) -> tuple[Tensor, Tensor]:
        return self._draw([("drawn", "training", seed, index) for index in range(count)])

    def evaluated(self, indices: Sequence[int], seed: int) -> tuple[Tensor, Tensor]:
        return self._draw([("drawn", "evaluated", seed, index) for index in indices])

    def identities(self, indices: Sequence[int], seed: int) -> list[Hashable]:
        return [(seed, index) for index in indices]

    def _draw(self, keys: Sequence[Key]) -> tuple[Tensor, Tensor]:
        """Pixels, uint8 (B, 3, side, side), and labels (B,): a bright shape on dark noise, one picture a key."""
        draws = Draws(keys)
        label = (draws.uniform() * len(self.classes)).long()
        shape = self._shapes(draws)[label, torch.arange(len(label))]
        colour = 150 + 105 * draws.uniform(3, 1, 1)
        noise = 100 * draws.uniform(3, self.side, self.side)
        return torch.where(shape[:, None], colour, noise).byte(), label

    def _shapes(self, draws: Draws) -> Tensor:
        """Bool (classes, B, side, side): each shape at the picture's own place and in its own size."""
        centre, size = 4 + 4 * draws.uniform(2, 1), 3 + draws.uniform(1, 1)
        away = (torch.arange(self.side) + 0.5 - centre).abs()
        down, across = away[:, 0, :, None], away[:, 1, None, :]
        thin, long = size / 3, 1.3 * size
        bars = (down < thin) & (across < long), (across < thin) & (down < long)
        return torch.stack([*bars, down.square() + across.square() < (0.75 * size).square()])
