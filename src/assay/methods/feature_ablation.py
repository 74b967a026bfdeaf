"""Feature ablation: remove one feature at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from assay.core.query import Query
from assay.methods._coalitions import score_drops


@dataclass(frozen=True)
class FeatureAblation:
    """How much the score drops when one feature is replaced by the baseline.

    A feature is replaced with all its entries: a pixel with its channels, a column with its one-hot block, a token with
    its embedding (Captum's FeatureAblation with the features as ``feature_mask``). One model row per sample and
    feature. Needs no gradients.
    """

    paper: ClassVar[str] = "Kokhlikyan et al., 2020"

    def __call__(self, query: Query) -> Tensor:
        shape = query.setting.features.shape
        features = torch.arange(torch.Size(shape).numel(), device=query.x.device)

        def without_one(part: slice) -> Tensor:
            return (features != features[part, None]).view(-1, *shape)

        return score_drops(query, len(features), without_one).reshape(-1, *shape)
