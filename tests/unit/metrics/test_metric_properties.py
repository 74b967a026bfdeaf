"""What holds for every metric, whatever the map."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from assay.core.evidence import Evidence, mean_score, merge
from assay.core.machine import Machine
from assay.core.setting import Samples, Truth
from assay.core.trial import Scene, Trial
from assay.metrics.completeness import Completeness
from assay.metrics.deletion import Deletion
from assay.metrics.f1 import F1
from assay.metrics.ids import Ids
from assay.metrics.modulo_deletion import ModuloDeletion
from assay.metrics.precision import Precision
from assay.metrics.recall import Recall
from assay.metrics.road import Road
from assay.metrics.sensitivity_n import SensitivityN
from assay.metrics.soundness import Soundness
from oracles.metrics.scenes import PLAIN, Lambda, table_scene, take

METRICS = [
    Precision(),
    Precision(sign="negative"),
    Recall(),
    Recall(sign="positive"),
    F1(),
    F1(sign="positive"),
    Deletion(direction="insert", steps=3),
    Deletion(direction="insert", ties="random", absolute=True, canvas="mean"),
    Deletion(steps=5),
    Deletion(ties="random"),
    ModuloDeletion(direction="insert"),
    ModuloDeletion(direction="insert", ties="random", absolute=False),
    ModuloDeletion(),
    ModuloDeletion(ties="random"),
    SensitivityN(sets=9),
    Completeness(canvas="zero"),
    Completeness(canvas="noise", transform="clamp"),
    Completeness(canvas="zero", indicator="sample"),
    Soundness(canvas="zero", ties="stable"),
    Soundness(canvas="zero", expansion="adaptive"),
    Soundness(canvas="mean", expansion="mass", indicator="sample", rest="kept"),
    Road(canvas="zero", ties="stable"),
    Road(order="lerf", canvas="noise", by="probability"),
    Ids(steps=4),
    Ids(order="descending", ties="random", absolute=True),
]
every_metric = pytest.mark.parametrize("metric", METRICS, ids=repr)
quick = settings(max_examples=5)


def rows_of(low: int, high: int) -> st.SearchStrategy[Tensor]:
    """(4, 7) of eighths: scaled by 3 they stay exact."""
    row = st.lists(st.integers(low, high), min_size=7, max_size=7)
    return st.lists(row, min_size=4, max_size=4).map(lambda rows: torch.tensor(rows, dtype=torch.float64))


maps = rows_of(-40, 40).map(lambda rows: rows / 8)


def trial_of(metric: Any, attribution: Tensor, effect: Tensor) -> Trial:
    effect = effect.abs() if "modulo" in type(metric).__name__.lower() else effect
    return Trial(table_scene(4, features=PLAIN, effect=effect), attribution)


def same(left: Evidence, right: Evidence) -> None:
    for name, row in left.rows.items():
        np.testing.assert_allclose(row, right[name], rtol=1e-9, atol=1e-12, err_msg=name)


def reduced(metric: Any, evidence: Evidence) -> Any:
    return getattr(metric, "reduce", mean_score)(evidence)


@every_metric
@quick
@given(attribution=maps, effect=rows_of(-1, 1))
def test_values_are_in_range_and_what_is_undefined_is_zero(metric: Any, attribution: Tensor, effect: Tensor) -> None:
    found = metric(trial_of(metric, attribution, effect))
    low, high = metric.range
    assert all(np.isfinite(row).all() and len(row) == 4 for row in found.rows.values())
    assert found["defined"].dtype == bool
    for name in {"value", "curve"} & set(found.rows):
        assert ((found[name] >= low) & (found[name] <= high)).all()
        assert (found[name][~found["defined"]] == 0).all()
    score = reduced(metric, found)
    assert score.value is None or low <= score.value <= high
    assert (score.value is None) == (score.defined == 0)


@every_metric
@quick
@given(attribution=maps, effect=rows_of(-1, 1))
def test_three_times_the_map_is_the_same_map(metric: Any, attribution: Tensor, effect: Tensor) -> None:
    if getattr(metric, "transform", "") == "clamp":
        return  # values above 1 are cut off: the one way to read the scale of a map
    trial = trial_of(metric, attribution, effect)
    same(metric(trial), metric(replace(trial, attribution=3 * attribution)))


@every_metric
@quick
@given(attribution=maps, effect=rows_of(-1, 1), cut=st.integers(1, 3))
def test_blocks_of_samples_merge_into_the_whole(metric: Any, attribution: Tensor, effect: Tensor, cut: int) -> None:
    trial = trial_of(metric, attribution, effect)
    blocks = merge([metric(take(trial, slice(0, cut))), metric(take(trial, slice(cut, 4)))])
    whole = metric(trial)
    same(whole, blocks)
    left, right = reduced(metric, whole), reduced(metric, blocks)
    assert left.value == right.value or abs(left.value - right.value) < 1e-9
    assert (left.count, left.defined) == (right.count, right.defined)


@every_metric
@quick
@given(attribution=maps, effect=rows_of(-1, 1))
def test_the_memory_budget_does_not_change_the_result(metric: Any, attribution: Tensor, effect: Tensor) -> None:
    trial = trial_of(metric, attribution, effect)
    roomy = replace(trial, scene=replace(trial.scene, machine=Machine()))
    same(metric(trial), metric(roomy))


@every_metric
@quick
@given(noise=maps, effect=rows_of(-1, 1), order=st.permutations(range(7)))
def test_the_names_of_features_do_not_matter(metric: Any, noise: Tensor, effect: Tensor, order: list[int]) -> None:
    if isinstance(metric, SensitivityN) or "random" in repr(metric) or "noise" in repr(metric):
        return  # other features, other random numbers
    attribution = noise + torch.arange(7) / 64  # no ties: these go by reading order
    trial = trial_of(metric, attribution, effect)
    same(metric(trial), metric(Trial(shuffled(trial.scene, order), attribution[:, order])))


def shuffled(scene: Scene, order: list[int]) -> Scene:
    """The scene with its features in another order, and a model that puts them back."""
    back = torch.tensor(order).argsort()
    model = scene.setting.model
    samples = scene.samples
    moved = Samples(samples.x[:, order], samples.label, Truth(scene.effect[:, order]), samples.indices)
    return replace(scene, setting=replace(scene.setting, model=Lambda(lambda x: model(x[:, back]))), samples=moved)
