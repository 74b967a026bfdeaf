"""Smooth Grad-CAM++ (Omeiza et al., 2019)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from assay.core.errors import SpecError
from assay.core.query import Query
from assay.methods._cam import activations, activations_and_gradients, pixel_map, spatial_layer, weighted_sum

EPSILON = 1e-8  # torchcam's, against division by 0


@dataclass(frozen=True)
class SmoothGradCamPlusPlus:
    """Grad-CAM++ with derivatives averaged over noisy copies of the input; activations are those of the input itself.

    With D1, D2, D3 the means of g, g^2, g^3 over copies, alpha = D2 / (2 D2 + sum(A) D3), and the weight of a channel
    is the sum of alpha * ReLU(D1). Without noise this is Grad-CAM++. (The paper prints D1 in the numerator of alpha,
    which would not give Grad-CAM++ without noise; torchcam corrects that, too.) alpha is 0 where its denominator is 0.
    If copies disagree about the sign of g, or the layer is before a ReLU, the denominator may come close to 0 and the
    weight may get very large.

    ``torchcam``: as torchcam 0.4, with ReLU(g) of the last copy, and sum(A * D3) instead of sum(A) D3. Noise is normal,
    independent per entry, in units of the input: choose it for the data's range.
    """

    layer: str = ""  # a layer's name; empty: the environment's choice, or the last block of more than one pixel
    relu: bool = True  # keep only what speaks for the class
    samples: int = 4  # noisy copies
    noise: float = 0.3  # standard deviation, in units of the input
    form: Literal["paper", "torchcam"] = "paper"  # which weights

    paper: ClassVar[str] = "Omeiza et al., 2019"

    def __post_init__(self) -> None:
        if self.samples < 1 or self.noise < 0:
            raise SpecError(
                f"smooth_grad_cam_plus_plus: samples={self.samples}, noise={self.noise} cannot make noisy copies. "
                "Choose samples of 1 or more, and noise of 0 or more."
            )

    @property
    def positive_only(self) -> bool:
        return self.relu

    def __call__(self, query: Query) -> Tensor:
        query.require_gradients()
        layer = spatial_layer(query, self.layer)
        return pixel_map(query, torch.cat([self._map(block, layer) for block in query.blocks()]), self.relu)

    def _map(self, query: Query, layer: nn.Module) -> Tensor:
        maps, draws, gradients = activations(query, layer), query.draws("noise"), []
        for _ in range(self.samples):
            noise = self.noise * draws.normal(*query.x.shape[1:]).to(query.x)
            gradients.append(activations_and_gradients(replace(query, x=query.x + noise), layer)[1])
        weigh = _torchcam if self.form == "torchcam" else _paper
        return weighted_sum(weigh(maps, torch.stack(gradients)).sum(dim=(2, 3), keepdim=True), maps)


def _paper(maps: Tensor, g: Tensor) -> Tensor:
    # D2 / largest^2 and D3 / largest^3, because powers of g underflow in float32 long before g.
    largest = g.abs().amax(dim=0)
    scaled = g / torch.where(largest == 0, 1, largest)
    d2, d3 = (scaled**2).mean(dim=0), (scaled**3).mean(dim=0)
    denominator = 2 * d2 + maps.sum(dim=(2, 3), keepdim=True) * largest * d3
    return torch.where(denominator == 0, 0, d2 / denominator) * g.mean(dim=0).clamp(min=0)


def _torchcam(maps: Tensor, g: Tensor) -> Tensor:
    d2, d3 = (g**2).mean(dim=0), (g**3).mean(dim=0)
    return d2 / (2 * d2 + (maps * d3).sum(dim=(2, 3), keepdim=True) + EPSILON) * g[-1].clamp(min=0)
