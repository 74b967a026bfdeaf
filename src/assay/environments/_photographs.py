"""CIFAR's images for an environment: the first training images of each class, test images in a seed's order."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from assay.core.errors import AssayError
from assay.core.rng import generator
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
