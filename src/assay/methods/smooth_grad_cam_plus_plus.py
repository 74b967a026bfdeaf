"""Smooth Grad-CAM++ (Omeiza et al., 2019)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from assay.core.errors import SpecError
from assay.core.query import Query
from assay.methods._cam import activations, activations_and_gradients, combined, enlarged, spatial

EPSILON = 1e-8  # torchcam's


@dataclass(frozen=True)
class SmoothGradCamPlusPlus:
    """Grad-CAM++ with derivatives averaged over noisy copies of the input; activations are those of the input itself.

    With D1, D2, D3 the means of g, g^2, g^3 over copies: alpha = D2 / (2 D2 + sum(A) D3), and a channel weighs the sum
    of alpha * ReLU(D1). Without noise this is Grad-CAM++. (The paper prints D1 above the line, which would not give
    Grad-CAM++ back; torchcam corrects that, too.) alpha is 0 where its denominator is; copies that disagree about the
    sign of g, and layers before a ReLU, may bring it close to 0 and the weight to any size.

    ``torchcam``: as torchcam 0.4, with ReLU(g) of the last copy, and sum(A * D3) for sum(A) D3. Noise is normal,
    independent per entry, in units of the input: choose it for the data's range.
    """

    layer: str = ""  # a layer's name; empty: the environment's choice, or the last block with more than one place
    relu: bool = True  # keep only what speaks for the class
    samples: int = 4  # noisy copies
    noise: float = 0.3  # standard deviation, in units of the input
    form: Literal["paper", "torchcam"] = "paper"  # which weights

    paper: ClassVar[str] = "Omeiza et al., 2019"

    def __post_init__(self) -> None:
        if self.samples < 1 or self.noise < 0:
            raise SpecError(
                f"smooth_grad_cam_plus_plus: samples={self.samples}, noise={self.noise} make no noisy copies. "
                "Choose samples of 1 or more, and noise of 0 or more."
            )

    @property
    def positive_only(self) -> bool:
        return self.relu

    def __call__(self, query: Query) -> Tensor:
        query.require_gradients()
        chosen = spatial(query, self.layer)
        return enlarged(query, torch.cat([self._map(block, chosen) for block in query.blocks()]), self.relu)

    def _map(self, query: Query, chosen: nn.Module) -> Tensor:
        maps, draws, slopes = activations(query, chosen), query.draws("noise"), []
        for _ in range(self.samples):
            noise = self.noise * draws.normal(*query.x.shape[1:]).to(query.x)
            slopes.append(activations_and_gradients(replace(query, x=query.x + noise), chosen)[1])
        weigh = _torchcam if self.form == "torchcam" else _paper
        return combined(weigh(maps, torch.stack(slopes)).sum(dim=(2, 3), keepdim=True), maps)


def _paper(maps: Tensor, g: Tensor) -> Tensor:
    # Powers of g / size, as powers of g vanish in float32 long before g does: D2 / size^2, D3 / size^3.
    size = g.abs().amax(dim=0)
    unit = g / torch.where(size == 0, 1, size)
    d2, d3 = (unit**2).mean(dim=0), (unit**3).mean(dim=0)
    below = 2 * d2 + maps.sum(dim=(2, 3), keepdim=True) * size * d3
    return torch.where(below == 0, 0, d2 / below) * g.mean(dim=0).clamp(min=0)


def _torchcam(maps: Tensor, g: Tensor) -> Tensor:
    d2, d3 = (g**2).mean(dim=0), (g**3).mean(dim=0)
    return d2 / (2 * d2 + (maps * d3).sum(dim=(2, 3), keepdim=True) + EPSILON) * g[-1].clamp(min=0)
