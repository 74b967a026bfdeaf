"""Grad-CAM++ (Chattopadhyay et al., 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from assay.core.query import Query
from assay.methods._cam import gradient_map


@dataclass(frozen=True)
class GradCamPlusPlus:
    """The sum of a layer's channels, each weighted by the sum of alpha * ReLU(gradient) over its pixels.

    With Y = exp(score) and a score that is piecewise linear in the activations A, the derivatives of Y are Y g, Y g^2
    and Y g^3, where g is the score's gradient. So alpha = Y'' / (2 Y'' + sum(A) Y''') = g^2 / (2 g^2 + sum(A) g^3), or
    1 / (2 + sum(A) g). Y itself, one positive factor per sample, is left out. alpha is 0 where its denominator is 0.
    The score is the explained number, readout included. Meant for layers after a ReLU: where sum(A) is negative, the
    denominator may come close to 0 and the weight may get very large. The authors' program also scales alphas to sum 1;
    the paper does not.

    ``torchcam``: torchcam 0.4 divides a copy only, so that its alpha is g^2. Published benchmarks used this form.
    """

    layer: str = ""  # a layer's name; empty: the environment's choice, or the last block of more than one pixel
    relu: bool = True  # keep only what speaks for the class
    form: Literal["paper", "torchcam"] = "paper"  # which alpha

    paper: ClassVar[str] = "Chattopadhyay et al., 2018"

    @property
    def positive_only(self) -> bool:
        return self.relu

    def __call__(self, query: Query) -> Tensor:
        return gradient_map(query, self.layer, self.relu, self._weights)

    def _weights(self, activations: Tensor, gradients: Tensor) -> Tensor:
        alpha = gradients**2 if self.form == "torchcam" else _alpha(activations, gradients)
        return (alpha * gradients.clamp(min=0)).sum(dim=(2, 3), keepdim=True)


def _alpha(activations: Tensor, gradients: Tensor) -> Tensor:
    # Both sides are divided by g^2, which underflows in float32 long before g. Where g is 0, alpha is multiplied by 0.
    denominator = 2 + activations.sum(dim=(2, 3), keepdim=True) * gradients
    return torch.where(denominator == 0, 0, 1 / denominator)
