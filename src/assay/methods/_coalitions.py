"""Coalitions: samples that keep some of their features; the baseline replaces the others."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from assay.core.query import Query


def coalition_samples(query: Query, keep: Tensor) -> Tensor:
    """Every sample with only the features of each coalition, bool (K, *features): (K, B, *entries)."""
    return torch.where(query.setting.features.expand(keep).unsqueeze(1), query.x, query.baseline)


def score_drops(query: Query, count: int, keep: Callable[[slice], Tensor]) -> Tensor:
    """The sample's score minus that of each of ``count`` coalitions, which are made part by part: (B, count)."""
    scores = query.score_each(count, lambda part: coalition_samples(query, keep(part)))
    return (query.score(query.x) - scores).T
