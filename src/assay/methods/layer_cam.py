"""Layer-CAM (Jiang et al., 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from assay.core.query import Query
from assay.methods._cam import gradient_map


@dataclass(frozen=True)
class LayerCam:
    """The sum over channels of a layer's activations, each weighted by its own gradient if that is positive, else 0.

    Weights belong to pixels, not to channels, so early layers give sharp maps. The gradient is that of the explained
    number, readout included.
    """

    layer: str = ""  # a layer's name; empty: the environment's choice, or the last block of more than one pixel
    relu: bool = True  # keep only what speaks for the class

    paper: ClassVar[str] = "Jiang et al., 2021"

    @property
    def positive_only(self) -> bool:
        return self.relu

    def __call__(self, query: Query) -> Tensor:
        return gradient_map(query, self.layer, self.relu, _weights)


def _weights(_activations: Tensor, gradients: Tensor) -> Tensor:
    return gradients.clamp(min=0)
