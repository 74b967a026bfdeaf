"""Soundness and completeness see the values of a map, not its order alone (Li et al., 2024, section 3.3)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from assay.core.evidence import Score, mean_score
from assay.core.features import Columns
from assay.core.trial import Scene, Trial
from assay.metrics.completeness import Completeness
from assay.metrics.soundness import Soundness
from oracles.metrics.scenes import Lambda, numbers, scene

VALUE = [
    Completeness(canvas="zero", transform="positive"),
    Soundness(canvas="zero", transform="positive", steps=3, first=0.7, last=0.0),
]
LOW, HIGH = [1.0, 2.0, 3.0], [1.0, 1.1, 100.0]


def linear(count: int = 9) -> Scene:
    """Class 1 while 2 x1 + x3 is large: x3 carries some samples, others need x1, none needs x2."""
    weights = torch.tensor([2.0, 0.0, 1.0], dtype=torch.float64)
    model = Lambda(lambda x: torch.stack([torch.full((len(x),), 1.5, dtype=x.dtype), x @ weights], 1))
    x = 0.2 + numbers(1, count, 3).abs()
    ones = torch.ones(count, dtype=torch.long)
    where = scene(x, model, Columns.plain(3))
    return replace(where, samples=replace(where.samples, label=ones), target=ones)


def score(metric: Any, values: list[float]) -> Score:
    where = linear()
    evidence = metric(Trial(where, torch.tensor([values], dtype=torch.float64).expand(len(where.samples), -1)))
    return getattr(metric, "reduce", mean_score)(evidence)


@pytest.mark.parametrize("metric", VALUE, ids=repr)
def test_maps_of_one_order_are_told_apart_by_their_values(metric: Any) -> None:
    low, high = score(metric, LOW), score(metric, HIGH)
    assert low.value is not None
    assert high.value is not None
    assert abs(low.value - high.value) > 0.01


def paper_scene(count: int, features: int) -> tuple[Scene, Tensor, Tensor, Tensor]:
    """Section 5.1: normal numbers, the sign of their sum; the true map, half of it removed, with false additions."""
    x, keep, add, size = numbers(2, 4, count, features).unbind()
    label = (x.sum(dim=1) > 0).long()
    where = scene(x, Lambda(lambda x: torch.stack([-x.sum(1), x.sum(1)], 1)), Columns.plain(features))
    where = replace(where, samples=replace(where.samples, label=label), target=label)
    true = ((2 * label - 1)[:, None] * x).clamp(min=0)
    false = torch.where((true == 0) & (add > 0), (size.abs() / 2).clamp(max=1) * true.amax(dim=1, keepdim=True), true)
    return where, true, true * (keep > 0), false


def test_on_the_papers_linear_model_each_sample_alone_finds_what_was_introduced() -> None:
    where, *maps = paper_scene(200, 60)
    own = {"indicator": "sample", "readout": "logit", "threshold": 0.0, "strict": False}
    metric = Soundness(canvas="zero", transform="positive", rest="kept", **own)
    true, removed, introduced = (metric.reduce(metric(Trial(where, each))).value for each in maps)
    assert true == removed == 1
    assert introduced < 0.8


def test_on_the_papers_linear_model_a_map_with_half_removed_is_less_complete() -> None:
    where, *maps = paper_scene(200, 60)
    metric = Completeness(canvas="zero", transform="positive")
    true, removed, _ = (metric.reduce(metric(Trial(where, each))).value for each in maps)
    assert removed < true - 0.02


@pytest.mark.parametrize("factor", [3.0, 1 / 3, 0.1, 1024.0])
def test_a_factor_moves_no_feature_over_a_level_of_completeness(factor: float) -> None:
    """0.06, 0.04, 0.02 stretch to 1, 0.5 and 0; three times as much to 0.50000006, which is no more than 0.5."""
    metric = Completeness(canvas="zero", indicator="sample")
    place = linear(3)
    plain = torch.tensor([[0.06, 0.02, -0.04]]).expand(len(place.samples.x), -1)
    one, other = (metric(Trial(place, map_)) for map_ in (plain, factor * plain))
    assert np.array_equal(one["left"], other["left"])
