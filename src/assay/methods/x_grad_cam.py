"""XGrad-CAM (Fu et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from assay.core.query import Query
from assay.methods._cam import gradient_map

EPSILON = 1e-8  # avoids a division by 0 in channels that are 0 everywhere


@dataclass(frozen=True)
class XGradCam:
    """The sum of a layer's channels, each weighted by the mean of its gradient, with the channel's values as weights.

    Conservation: before ``relu`` and enlarging, the map sums to the sum of gradient * activation. This is the score if
    the rest of the model after the layer is homogeneous (ReLU, pooling, layers without bias). Equal to Grad-CAM if the
    gradient is the same at every pixel of a channel, as before global average pooling and a linear layer. Meant for
    layers after a ReLU: values of both signs may add up to almost 0, which makes the weight meaningless.
    """

    layer: str = ""  # a layer's name; empty: the environment's choice, or the last block of more than one pixel
    relu: bool = True  # keep only what speaks for the class

    paper: ClassVar[str] = "Fu et al., 2020"

    @property
    def positive_only(self) -> bool:
        return self.relu

    def __call__(self, query: Query) -> Tensor:
        return gradient_map(query, self.layer, self.relu, _weights)


def _weights(activations: Tensor, gradients: Tensor) -> Tensor:
    total = activations.sum(dim=(2, 3), keepdim=True)
    return (gradients * activations).sum(dim=(2, 3), keepdim=True) / (total + EPSILON)
