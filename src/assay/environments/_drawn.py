"""Small colour pictures that need no data files: horizontal bars, vertical bars and discs, drawn when asked for."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import torch
from torch import Tensor

from assay.core.rng import Draws, Key


class Drawn:
    """An endless source of pictures. Training pictures depend on the training seed."""

    side = 12
    classes = ("bar across", "bar down", "disc")
    colours = ((0.3, 0.3, 0.3), (0.25, 0.25, 0.25))  # mean and deviation of red, green and blue

    def training(self, count: int, seed: int) -> tuple[Tensor, Tensor]:
        return self._draw([("drawn", "training", seed, index) for index in range(count)])

    def evaluated(self, indices: Sequence[int], seed: int) -> tuple[Tensor, Tensor]:
        return self._draw([("drawn", "evaluated", seed, index) for index in indices])

    def identities(self, indices: Sequence[int], seed: int) -> list[Hashable]:
        return [(seed, index) for index in indices]

    def _draw(self, keys: Sequence[Key]) -> tuple[Tensor, Tensor]:
        """Pixels, uint8 (B, 3, side, side), and labels (B,): a bright shape on dark noise, one picture per key."""
        draws = Draws(keys)
        label = (draws.uniform() * len(self.classes)).long()
        shape = self._shapes(draws)[label, torch.arange(len(label))]
        colour = 150 + 105 * draws.uniform(3, 1, 1)
        noise = 100 * draws.uniform(3, self.side, self.side)
        return torch.where(shape[:, None], colour, noise).byte(), label

    def _shapes(self, draws: Draws) -> Tensor:
        """Bool (classes, B, side, side): every shape, at each picture's own position and size."""
        centre, size = 4 + 4 * draws.uniform(2, 1), 3 + draws.uniform(1, 1)
        distance = (torch.arange(self.side) + 0.5 - centre).abs()
        down, across = distance[:, 0, :, None], distance[:, 1, None, :]
        thin, long = size / 3, 1.3 * size
        bars = (down < thin) & (across < long), (across < thin) & (down < long)
        return torch.stack([*bars, down.square() + across.square() < (0.75 * size).square()])
