"""Where images come from: CIFAR's photographs, or small drawn pictures that need no data files."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from assay.core.errors import AssayError
from assay.core.rng import Draws, Key, generator
from assay.data.cifar import Images, images
from assay.data.names import NAMES

# Mean and deviation of red, green and blue, as in public code.
COLOURS = {
    "cifar10": ((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)),
    "cifar100": ((0.5071, 0.4867, 0.4408), (0.2675, 0.2565, 0.2761)),
}


@dataclass(frozen=True)
class Photographs:
    """Images of one data set: pixels, uint8 (N, 3, 32, 32), and labels (N,)."""

    dataset: str
    side = 32

    @property
    def classes(self) -> tuple[str, ...]:
        return NAMES[self.dataset]

    @property
    def colours(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        return COLOURS[self.dataset]

    def training(self, count: int, seed: int) -> tuple[Tensor, Tensor]:
        """The first images of each class, the same for every seed."""
        return _tensors(images(self.dataset, "train").first(count))

    def evaluated(self, indices: Sequence[int], seed: int) -> tuple[Tensor, Tensor]:
        return _tensors(images(self.dataset, "test").rows(np.array(self.identities(indices, seed))))

    def identities(self, indices: Sequence[int], seed: int) -> list[Hashable]:
        """Row numbers in the test set."""
        test_set = images(self.dataset, "test")
        if max(indices) >= len(test_set):
            raise AssayError(
                f"sample {max(indices)} was asked for, and {self.dataset} has {len(test_set)} test images. "
                "Ask for fewer samples. Blocks are computed whole, so their size should divide the number of samples."
            )
        order = torch.randperm(len(test_set), generator=generator(self.dataset, "evaluated", seed))
        return list(order[list(indices)].tolist())


def _tensors(selection: Images) -> tuple[Tensor, Tensor]:
    return torch.from_numpy(selection.pixels).permute(0, 3, 1, 2).contiguous(), torch.from_numpy(selection.label)


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
