"""Feature ablation: one feature is taken away at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from assay.core.query import Query
from assay.methods._coalitions import drops


@dataclass(frozen=True)
class FeatureAblation:
    """How much the score drops when one feature is replaced by the baseline.

    A feature goes with all its entries: a pixel with its channels, a column with its one-hot block, a token with its
    embedding (Captum's FeatureAblation with the features as ``feature_mask``). As many model rows per sample as there
    are features. Needs no gradients.
    """

    paper: ClassVar[str] = "Kokhlikyan et al., 2020"

    def __call__(self, query: Query) -> Tensor:
        shape = query.setting.features.shape
        every = torch.arange(torch.Size(shape).numel(), device=query.x.device)

        def without_one(part: slice) -> Tensor:
            return (every != every[part, None]).view(-1, *shape)

        return drops(query, len(every), without_one).reshape(-1, *shape)
