"""Nested random sets of features, and the mean of curves over them."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from assay.core.errors import NotApplicable, SpecError
from assay.core.evidence import Evidence, Score, mean_score
from assay.core.trial import Scene
from assay.kit.curves import log_counts


def nested_sets(scene: Scene, sizes: int, sets: int) -> tuple[Tensor, Tensor]:
    """Set sizes (S,) and shuffled orders (sets, P), shared by all samples and methods."""
    if sizes < 1 or sets < 2:
        raise SpecError(f"sizes={sizes}, sets={sets}: a correlation needs at least one size and two sets.")
    count = int(np.prod(scene.setting.features.shape))
    if count < 2:
        raise NotApplicable("needs at least two features")
    stream, device = scene.generator("sets"), scene.samples.x.device
    orders = torch.stack([torch.randperm(count, generator=stream) for _ in range(sets)])
    return log_counts(count - 1, sizes).to(device), orders.to(device)


def point_by_point(evidence: Evidence) -> Score:
    """The mean over defined samples; each point of the curve is the mean over the samples that define it there."""
    score = mean_score(evidence)
    curves, defined = evidence["curve"].astype(np.float64), evidence["curve_defined"].astype(bool)
    curve = curves.sum(axis=0, where=defined) / np.maximum(defined.sum(axis=0), 1)
    return Score(score.value, score.count, score.defined, curve, np.asarray(defined.any(axis=0)))
