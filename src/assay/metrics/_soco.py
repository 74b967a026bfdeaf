"""Maps as soundness and completeness see them, and what these two read off the model."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from assay.core.query import Query
from assay.core.trial import Trial, per_feature
from assay.kit.levels import units
from assay.kit.soft import scaled


def heights(trial: Trial, transform: str) -> Tensor:
    """Attribution (B, P), nowhere negative, over its largest value.

    abs: sizes stretched to 0..1 (the published code). clamp: values cut to 0..1 (the paper). positive: negative values
    cut to 0 (the paper's linear model).
    """
    raw, features = trial.attribution, trial.scene.setting.features
    if transform == "abs":
        height = per_feature(raw.abs(), features).flatten(1)
        return scaled(height - height.amin(dim=1, keepdim=True))
    height = per_feature(raw, features).flatten(1)
    return scaled(height.clamp(0, 1) if transform == "clamp" else height.clamp(min=0))


def settled(height: Tensor, dtype: torch.dtype) -> Tensor:
    """On a grid of some units in the last place of the largest possible height, 1: what differs by the rounding of
    heights alone is equal."""
    step = units(dtype, 8)
    return (height.double() / step).round() * step


def readout_of(indicator: str, readout: str) -> str:
    """Accuracy goes by what the model says, so that no softmax makes two classes equal."""
    return {"accuracy": "value", "probability": "probability"}.get(indicator, readout)


def indications(query: Query, label: Tensor) -> Callable[[Tensor], Tensor]:
    """Reads off points (K, B, *entries), in (K, B, 2): 1 where the true class is chosen, and the explained number.

    NaN where the model has no finite answer.
    """

    def read(points: Tensor) -> Tensor:
        outputs = query.outputs(points).double()
        correct = (outputs.argmax(dim=-1) == label).double()
        score = outputs.gather(-1, query.target.expand(correct.shape).unsqueeze(-1)).squeeze(-1)
        finite = outputs.isfinite().all(dim=-1, keepdim=True)
        return torch.stack([correct, score], dim=-1).where(finite, torch.nan)

    return read
