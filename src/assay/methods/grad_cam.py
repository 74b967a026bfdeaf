"""Grad-CAM (Selvaraju et al., 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from assay.core.query import Query
from assay.methods._cam import gradient_map


@dataclass(frozen=True)
class GradCam:
    """The sum of a layer's channels, each weighted by the mean of its gradient, enlarged to the image.

    The gradient is that of the explained number, readout included.
    """

    layer: str = ""  # a layer's name; empty: the environment's choice, or the last block of more than one pixel
    relu: bool = True  # keep only what speaks for the class

    paper: ClassVar[str] = "Selvaraju et al., 2017"

    @property
    def positive_only(self) -> bool:
        return self.relu

    def __call__(self, query: Query) -> Tensor:
        return gradient_map(query, self.layer, self.relu, _weights)


def _weights(_activations: Tensor, gradients: Tensor) -> Tensor:
    return gradients.mean(dim=(2, 3), keepdim=True)
