"""The check of metrics that may count only those samples that the model predicts correctly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch

from assay.core.errors import NotApplicable
from assay.core.evidence import Evidence
from assay.core.trial import Trial
from oracles.metrics.refusals import refuses
from oracles.metrics.scenes import PLAIN, numbers, table_scene, truth_scene


def correct_samples_only(make: Callable[..., Callable[[Trial], Evidence]], **params: Any) -> None:
    """Others are undefined and 0; what is explained, the label or the prediction, does not matter."""
    effect = numbers(61, 12, 7).mul(0.6).round()
    effect[:, 0], effect[:, 1] = 1.0, 0.0
    where = table_scene(12, features=PLAIN, effect=effect)
    with torch.no_grad():
        predicted = where.setting.model(where.samples.x).argmax(dim=1)
    correct = (predicted == where.samples.label).numpy()
    assert 0 < correct.sum() < 12
    asked = replace(where.question, target="predicted")
    trials = [
        Trial(where, numbers(62, 12, 7)),  # asked about the class after the label
        Trial(replace(where, question=asked, target=predicted), numbers(62, 12, 7)),
    ]
    for trial in trials:
        every, some = make(**params)(trial), make(samples="correct", **params)(trial)
        assert every["defined"].all()
        assert every["value"][~correct].any()
        np.testing.assert_array_equal(some["defined"], correct)
        np.testing.assert_array_equal(some["value"], np.where(correct, every["value"], 0.0))
        np.testing.assert_array_equal(make(samples="all", **params)(trial)["value"], every["value"])
    value = Trial(truth_scene(effect), numbers(62, 12, 7))
    refuses(NotApplicable, "needs a classifier", partial(make(samples="correct", **params), value))
