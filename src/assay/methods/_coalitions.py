"""Coalitions: samples that keep some of their features, the others being replaced by the baseline."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from assay.core.query import Query


def kept(query: Query, keep: Tensor) -> Tensor:
    """Every sample with the features of each coalition, bool (K, *features), kept: (K, B, *entries)."""
    return torch.where(query.setting.features.expand(keep).unsqueeze(1), query.x, query.baseline)


def drops(query: Query, count: int, keep: Callable[[slice], Tensor]) -> Tensor:
    """How far each of ``count`` coalitions, made part by part, falls behind the whole sample's score: (B, count)."""
    scores = query.score_each(count, lambda part: kept(query, keep(part)))
    return (query.score(query.x) - scores).T
