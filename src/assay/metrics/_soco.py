"""Maps as soundness and completeness use them, and what these metrics read off the model."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from assay.core.query import Query
from assay.core.trial import Trial, per_feature
from assay.kit.rounding import units_in_last_place
from assay.kit.soft_precision import scaled_by_largest


def strengths(trial: Trial, transform: str) -> Tensor:
    """Attribution (B, P) made non-negative and divided by its largest value.

    abs: sizes stretched to 0..1 (the published code). clamp: values cut to 0..1 (the paper). positive: negative values
    cut to 0 (the paper's linear model).
    """
    raw, features = trial.attribution, trial.scene.setting.features
    if transform == "abs":
        strength = per_feature(raw.abs(), features).flatten(1)
        return scaled_by_largest(strength - strength.amin(dim=1, keepdim=True))
    strength = per_feature(raw, features).flatten(1)
    return scaled_by_largest(strength.clamp(0, 1) if transform == "clamp" else strength.clamp(min=0))


def on_grid(strength: Tensor, dtype: torch.dtype) -> Tensor:
    """Rounded to a grid of 8 units in the last place of 1, the largest strength: strengths that differ by rounding
    alone become equal."""
    step = units_in_last_place(dtype, 8)
    return (strength.double() / step).round() * step


def readout_of(indicator: str, readout: str) -> str:
    """The readout for an indicator: accuracy uses raw outputs, as a softmax can make two classes equal."""
    return {"accuracy": "value", "probability": "probability"}.get(indicator, readout)


def correct_and_score(query: Query, label: Tensor) -> Callable[[Tensor], Tensor]:
    """Reads (K, B, 2) off points (K, B, *entries): 1 where the true class is chosen, else 0, and the explained number.

    NaN where the model has no finite answer.
    """

    def read(points: Tensor) -> Tensor:
        outputs = query.outputs(points).double()
        correct = (outputs.argmax(dim=-1) == label).double()
        score = outputs.gather(-1, query.target.expand(correct.shape).unsqueeze(-1)).squeeze(-1)
        finite = outputs.isfinite().all(dim=-1, keepdim=True)
        return torch.stack([correct, score], dim=-1).where(finite, torch.nan)

    return read
