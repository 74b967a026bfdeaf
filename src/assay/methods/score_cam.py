"""Score-CAM (Wang et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from assay.core.query import Query
from assay.methods._cam import activations, combined, enlarged, resized, spatial


@dataclass(frozen=True)
class ScoreCam:
    """A layer's channels, each weighted by the score of the input seen through that channel alone; no gradients.

    A channel enlarged to the image and scaled to [0, 1] is a mask H; its increase of confidence is
    score(baseline + H * (x - baseline)) - score(baseline), the paper's for the baseline 0. Weights are the softmax of
    the increases over channels (the baseline's score then cancels), or the increases themselves. A channel that is the
    same everywhere makes no mask and has the weight 0, as in the authors' program. One model call per channel.

    The score is the explained number: of logits that differ much, the softmax keeps hardly more than one channel.
    """

    layer: str = ""  # a layer's name; empty: the environment's choice, or the last block with more than one place
    relu: bool = True  # keep only what speaks for the class
    weights: Literal["softmax", "increase"] = "softmax"  # of the channels

    paper: ClassVar[str] = "Wang et al., 2020"

    @property
    def positive_only(self) -> bool:
        return self.relu

    def __call__(self, query: Query) -> Tensor:
        chosen = spatial(query, self.layer)
        return enlarged(query, torch.cat([self._map(block, chosen) for block in query.blocks()]), self.relu)

    def _map(self, query: Query, chosen: nn.Module) -> Tensor:
        maps = activations(query, chosen)  # (N, C, h, w)

        def masked(part: slice) -> Tensor:
            masks = _scaled(resized(query, maps[:, part])).transpose(0, 1)  # (K, N, height, width)
            return query.baseline + query.setting.features.expand(masks) * (query.x - query.baseline)

        increase = query.score_each(maps.shape[1], masked).T - query.score(query.baseline).unsqueeze(1)  # (N, C)
        uniform = maps.amax(dim=(2, 3)) == maps.amin(dim=(2, 3))
        if self.weights == "softmax":
            increase = increase.masked_fill(uniform, -torch.inf).softmax(dim=1)
        return combined(increase.masked_fill(uniform, 0)[:, :, None, None], maps)


def _scaled(maps: Tensor) -> Tensor:
    """Every map to [0, 1]; to 0 where it is the same everywhere."""
    low, high = maps.amin(dim=(2, 3), keepdim=True), maps.amax(dim=(2, 3), keepdim=True)
    return torch.where(high > low, (maps - low) / (high - low), 0)
