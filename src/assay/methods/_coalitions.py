"""Coalitions: samples that keep some of their features; the baseline replaces the others."""

from __future__ import annotations

import torch
from torch import Tensor

from assay.core.query import Query


def coalition_samples(query: Query, keep: Tensor) -> Tensor:
    """Every sample with only the features of each coalition, bool (K, *features): (K, B, *entries)."""
    return torch.where(query.setting.features.expand(keep).unsqueeze(1), query.x, query.baseline)
