"""Adam on one flat tensor."""

from __future__ import annotations

import torch
from torch import Tensor

PART = 32_768  # parameters updated at once: the five tensors of a part stay in a core's cache between operations


class FlatAdam:
    """``torch.optim.Adam`` with its default constants, operation by operation, on parameters in one flat tensor.

    The optimiser calls an operation once per tensor: for the weights and for the biases of each layer of each network.
    Here it is called once per part of the flat tensor.
    """

    decay, square_decay, floor = 0.9, 0.999, 1e-8

    def __init__(self, parameters: Tensor, gradients: Tensor, lr: float) -> None:
        self.lr, self.steps = lr, 0
        self.means, self.squares = torch.zeros_like(parameters), torch.zeros_like(parameters)
        self.deviation = torch.empty_like(parameters[:PART])
        flat = (parameters, gradients, self.means, self.squares)
        self.parts = list(zip(*(tensor.split(PART) for tensor in flat), strict=True))

    def step(self) -> None:
        """Update the parameters by the present values of ``gradients``."""
        self.steps += 1
        size = -self.lr / (1 - self.decay**self.steps)
        unbiased = (1 - self.square_decay**self.steps) ** 0.5
        for parameters, gradients, means, squares in self.parts:
            means.lerp_(gradients, 1 - self.decay)
            squares.mul_(self.square_decay).addcmul_(gradients, gradients, value=1 - self.square_decay)
            deviation = torch.sqrt(squares, out=self.deviation[: len(squares)]).div_(unbiased).add_(self.floor)
            parameters.addcdiv_(means, deviation, value=size)
