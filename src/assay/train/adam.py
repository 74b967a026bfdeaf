"""Adam on one flat tensor."""

from __future__ import annotations

import torch
from torch import Tensor

PART = 32_768  # numbers updated at once: the five tensors of a part stay in a core's cache between operations


class FlatAdam:
    """``torch.optim.Adam`` with its default means, operation by operation, over numbers that lie in one tensor.

    Numbers of many layers and networks cost one call per operation and part, where the optimiser needs one for each
    layer's weights and biases.
    """

    decay, square_decay, floor = 0.9, 0.999, 1e-8

    def __init__(self, numbers: Tensor, slopes: Tensor, lr: float) -> None:
        self.lr, self.steps = lr, 0
        self.means, self.squares = torch.zeros_like(numbers), torch.zeros_like(numbers)
        self.spread = torch.empty_like(numbers[:PART])
        flat = (numbers, slopes, self.means, self.squares)
        self.parts = list(zip(*(tensor.split(PART) for tensor in flat), strict=True))

    def step(self) -> None:
        """Move the numbers by what their slopes hold now."""
        self.steps += 1
        size = -self.lr / (1 - self.decay**self.steps)
        unbiased = (1 - self.square_decay**self.steps) ** 0.5
        for numbers, slopes, means, squares in self.parts:
            means.lerp_(slopes, 1 - self.decay)
            squares.mul_(self.square_decay).addcmul_(slopes, slopes, value=1 - self.square_decay)
            spread = torch.sqrt(squares, out=self.spread[: len(squares)]).div_(unbiased).add_(self.floor)
            numbers.addcdiv_(means, spread, value=size)
