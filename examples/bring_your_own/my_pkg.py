"""Methods of your own: nothing of assay is touched, a study names them as ``my_pkg:...``."""

from dataclasses import dataclass

import torch
from torch import Tensor

from assay.core.query import Query


@dataclass(frozen=True)
class MyMethod:
    """The gradient, weighted by how far the input is from the baseline, to a power."""

    power: float = 1.0

    def __call__(self, query: Query) -> Tensor:
        distance = (query.x - query.baseline).abs() ** self.power
        return query.gradient(query.x) * distance


def plain(model: torch.nn.Module, inputs: Tensor, targets: Tensor) -> Tensor:
    """A plain callable, the shape Quantus users know: the gradient of the target's output."""
    inputs = inputs.requires_grad_()
    model(inputs).gather(1, targets[:, None]).sum().backward()
    return inputs.grad
