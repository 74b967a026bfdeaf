"""Grad-CAM on the attention of a transformer's last layer, as Chefer, Gur and Wolf compare with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from assay.core.query import Query
from assay.kit.attention import attention_and_gradients
from assay.methods._attention import COPIES, checked_reader, extra_positions, on_features


@dataclass(frozen=True)
class VitGradCam:
    """The reader's attention to patches in the last layer, each head weighted by the mean of its gradient.

    Grad-CAM with heads as channels and patches as pixels: the mean over heads of weight times attention. Each pixel has
    the number of its patch; tokens are treated like patches. IDSDS then scales every map to [0, 1], which does not
    change the order; maps stay raw here. attention_rollout explains the reader.
    """

    relu: bool = True  # keep only what speaks for the class
    reader: int = 0  # position whose row is read; negative: from the end

    paper: ClassVar[str] = "Chefer, Gur and Wolf, CVPR 2021"

    @property
    def positive_only(self) -> bool:
        return self.relu

    def __call__(self, query: Query) -> Tensor:
        query.require_gradients()
        return torch.cat([self._map(block) for block in query.blocks(COPIES)])

    def _map(self, query: Query) -> Tensor:
        layers = attention_and_gradients(query.module, query.x, query.target)
        query.note(f"layer {len(layers)} of {len(layers)} with attention")
        weights, gradient = layers[-1]
        reader, first = checked_reader(weights, self.reader), extra_positions(query, weights)
        maps, gradients = (values[:, :, reader, first:] for values in (weights, gradient))  # (N, heads, patches)
        cam = (gradients.mean(dim=2, keepdim=True) * maps).mean(dim=1)
        return on_features(query, cam.clamp(min=0) if self.relu else cam)
