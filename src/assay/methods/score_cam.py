"""Score-CAM (Wang et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from assay.core.query import Query
from assay.methods._cam import activations, pixel_map, spatial_layer, upsampled, weighted_sum


@dataclass(frozen=True)
class ScoreCam:
    """The sum of a layer's channels, each weighted by the score of the input masked with that channel; no gradients.

    A channel enlarged to the image and scaled to [0, 1] is a mask H. Its increase of confidence is
    score(baseline + H * (x - baseline)) - score(baseline), the paper's for the baseline 0. Weights are the softmax of
    the increases over channels (the baseline's score then cancels), or the increases themselves. A constant channel has
    the weight 0, as in the authors' program. One model call per channel.

    The score is the explained number. If logits differ much, the softmax keeps hardly more than one channel.
    """

    layer: str = ""  # a layer's name; empty: the environment's choice, or the last block of more than one pixel
    relu: bool = True  # keep only what speaks for the class
    weights: Literal["softmax", "increase"] = "softmax"  # of the channels

    paper: ClassVar[str] = "Wang et al., 2020"

    @property
    def positive_only(self) -> bool:
        return self.relu

    def __call__(self, query: Query) -> Tensor:
        layer = spatial_layer(query, self.layer)
        return pixel_map(query, torch.cat([self._map(block, layer) for block in query.blocks()]), self.relu)

    def _map(self, query: Query, layer: nn.Module) -> Tensor:
        maps = activations(query, layer)  # (N, C, h, w)

        def masked(part: slice) -> Tensor:
            masks = _scaled(upsampled(query, maps[:, part])).transpose(0, 1)  # (K, N, height, width)
            return query.baseline + query.setting.features.expand(masks) * (query.x - query.baseline)

        increase = query.score_each(maps.shape[1], masked).T - query.score(query.baseline).unsqueeze(1)  # (N, C)
        constant = maps.amax(dim=(2, 3)) == maps.amin(dim=(2, 3))
        if self.weights == "softmax":
            increase = increase.masked_fill(constant, -torch.inf).softmax(dim=1)
        return weighted_sum(increase.masked_fill(constant, 0)[:, :, None, None], maps)


def _scaled(maps: Tensor) -> Tensor:
    """Every map scaled to [0, 1]; a constant map becomes 0."""
    low, high = maps.amin(dim=(2, 3), keepdim=True), maps.amax(dim=(2, 3), keepdim=True)
    return torch.where(high > low, (maps - low) / (high - low), 0)
