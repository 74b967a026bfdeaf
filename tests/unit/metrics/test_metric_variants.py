"""Metrics with other parameters keep every metric's promises."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from assay.check.contracts.fault import examine
from assay.check.contracts.metric_case import MetricCase
from assay.check.contracts.metrics import AT_SITES
from assay.check.instruments.sites import site
from assay.metrics.accuracy import Accuracy
from assay.metrics.completeness import Completeness
from assay.metrics.deletion import Deletion
from assay.metrics.ids import Ids
from assay.metrics.modulo import ModuloDeletion, ModuloSensitivityN
from assay.metrics.pointing_game import PointingGame
from assay.metrics.ranks import Spearman, TopK
from assay.metrics.readout_conflict import ReadoutConflict
from assay.metrics.road import Road
from assay.metrics.sensitivity_n import SensitivityN
from assay.metrics.signed_truth import F1, Precision, Recall
from assay.metrics.single_deletion import SingleDeletion
from assay.metrics.soundness import Soundness

TABLE, COUNT, MODULO = "tabular_rule", "pixel_count", "pixel_modulo"
CASES = [
    (Accuracy(of="gain", k=2, without="cell", grid=(3, 3)), "in_domain"),
    (ReadoutConflict(grid=(3, 2), canvas="true"), "color_count"),
    (Precision(sign="negative"), TABLE),
    (Recall(sign="positive"), TABLE),
    (F1(sign="positive"), TABLE),
    (Spearman(absolute=False), TABLE),
    (TopK(k=3, ties="stable"), TABLE),
    (PointingGame(radius=1), COUNT),
    (Deletion(direction="insert", steps=3), TABLE),
    (Deletion(direction="insert", ties="random", absolute=True, canvas="mean"), TABLE),
    (Deletion(ties="random"), TABLE),
    (Deletion(by="accuracy"), TABLE),
    (Deletion(canvas="noise", readout="probability"), TABLE),
    (SensitivityN(sets=9, canvas="mean"), TABLE),
    (SingleDeletion(readout="probability", temperature=5.0), TABLE),
    (Completeness(canvas="noise", transform="clamp"), TABLE),
    (Completeness(canvas="zero", indicator="sample"), TABLE),
    (Soundness(canvas="zero", ties="stable", steps=12), TABLE),
    (Soundness(canvas="zero", expansion="adaptive", steps=12), TABLE),
    (Soundness(canvas="mean", expansion="mass", indicator="sample", rest="kept", steps=12), TABLE),
    (Road(canvas="zero", ties="stable"), TABLE),
    (Road(order="lerf", canvas="noise", by="probability"), TABLE),
    (Ids(steps=4), TABLE),
    (Ids(order="descending", ties="random", absolute=True), TABLE),
    (ModuloDeletion(direction="insert", ties="random", absolute=False), MODULO),
    (ModuloDeletion(ties="random"), MODULO),
    (ModuloSensitivityN(sizes=4, sets=30), MODULO),
]


@pytest.mark.parametrize(("metric", "place"), CASES, ids=lambda value: str(value))
def test_a_metric_keeps_its_promises(metric: Any, place: str) -> None:
    case = MetricCase(str(metric), metric, site(place))
    assert case.reason() == ""
    faults = examine(case, AT_SITES)
    assert not faults, "\n".join(map(str, faults))


SHUFFLING = [
    (Deletion(ties="random"), TABLE),
    (Road(canvas="zero", ties="random"), TABLE),
    (Ids(ties="random"), TABLE),
    (Soundness(canvas="zero", ties="random", steps=12, indicator="sample"), TABLE),
    (ModuloDeletion(ties="random"), MODULO),
]


@pytest.mark.parametrize(("metric", "place"), SHUFFLING, ids=lambda value: str(value))
def test_equal_attributions_are_shuffled_for_each_sample_whatever_its_block(metric: Any, place: str) -> None:
    case = MetricCase(str(metric), metric, site(place))

    def judged(indices: range) -> Any:
        scene = case.scene(indices)
        tied = torch.ones(len(indices), *scene.setting.features.shape)
        tied[:, :4] = 2.0
        return case.judge(scene, tied)

    whole, part = judged(range(20)), judged(range(7, 15))
    for name, row in part.rows.items():
        np.testing.assert_allclose(row, whole[name][7:15], rtol=1e-5, atol=1e-7, err_msg=name)
