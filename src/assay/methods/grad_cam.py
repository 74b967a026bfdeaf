"""Grad-CAM (Selvaraju et al., 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate

from assay.core.errors import NotApplicable
from assay.core.query import Query
from assay.kit.layers import layer, outputs, watched


@dataclass(frozen=True)
class GradCam:
    """A layer's channels, each weighted by the mean of its gradient, added up and enlarged to the image.

    The gradient is that of the explained number, readout included.
    """

    layer: str = ""  # a layer's name; empty: the environment's choice, or the last layer with more than one place
    relu: bool = True  # keep only what speaks for the class

    paper: ClassVar[str] = "Selvaraju et al., 2017"

    def __call__(self, query: Query) -> Tensor:
        query.require_gradients()
        if query.setting.kind != "image":
            raise NotApplicable("needs a convolutional layer")
        chosen = layer(query.setting.model, self.layer or query.setting.hints.get("grad_cam") or _last_map(query))
        maps = torch.cat([_channels(block, chosen) for block in query.blocks()])
        maps = maps.clamp(min=0) if self.relu else maps
        return interpolate(maps, query.setting.features.shape, mode="bilinear", align_corners=False).squeeze(1)


def _last_map(query: Query) -> str:
    """The last layer whose output is an image of more than one pixel."""
    with torch.no_grad():
        found = outputs(query.setting.model, query.x[:1])
    maps = [name for name, output in found.items() if output.dim() == 4 and min(output.shape[2:]) > 1]
    if not maps:
        raise NotApplicable("needs a convolutional layer")
    return maps[-1]


def _channels(query: Query, chosen: nn.Module) -> Tensor:
    """The weighted sum of the layer's channels: (N, 1, h, w)."""
    seen: list[Tensor] = []

    def keep(_module: nn.Module, _inputs: Any, output: Any) -> Tensor:
        if not isinstance(output, Tensor) or output.dim() != 4:
            raise NotApplicable("needs a convolutional layer, and the chosen one does not return an image")
        seen.append(output)
        return output.clone()  # what comes next may work in place

    with watched([chosen], keep), torch.enable_grad():
        scores = query.module(query.x.detach().requires_grad_()).gather(1, query.target.unsqueeze(1))
        if not seen:
            raise NotApplicable("needs a layer that the model uses, and it does not call the chosen one")
        (gradient,) = torch.autograd.grad(scores.sum(), seen[-1], materialize_grads=True)
    return (gradient.mean(dim=(2, 3), keepdim=True) * seen[-1].detach()).sum(dim=1, keepdim=True)
