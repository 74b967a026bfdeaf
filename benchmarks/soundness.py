"""Soundness of a network for small pictures, end to end: with our imputation and with the published one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any
from unittest.mock import patch

import numpy as np
from torch import Tensor

from assay.core.evidence import Score
from assay.core.trial import Trial
from assay.kit.imputation import impute
from assay.metrics.soundness import Soundness
from benchmarks.deletion_curve import SIDE, cifar_scene, noise_map
from benchmarks.imputation import PEER, reference
from benchmarks.measuring import Measured, seconds

IMAGES = 16


def problems() -> list[Measured]:
    return [SoundnessCost()]


@dataclass(frozen=True)
class SoundnessCost:
    """CPU seconds of the metric with either imputation, and on a zero canvas, without imputation."""

    images: int = IMAGES
    metric: Soundness = Soundness()

    def rows(self, task: str, repeats: int) -> list[dict[str, Any]]:
        scene = cifar_scene(self.images)
        trial = Trial(scene, noise_map(scene))
        without_imputation = Soundness(canvas="zero", steps=self.metric.steps)
        works: tuple[Callable[[], Score], ...] = (
            lambda: _scored(self.metric, trial),
            lambda: _published(self.metric, trial),
            lambda: _scored(without_imputation, trial),
        )
        ours, theirs, _ = (work() for work in works)  # compiles before it is timed
        runs = [[seconds(work) for work in works] for _ in range(repeats)]
        times = [median(column) for column in zip(*runs, strict=True)]
        statement = f"ResNet-20, {self.images} images of {SIDE}x{SIDE}, {self.metric.steps} steps"
        common = {"task": task, "problem": statement, "repeats": repeats, "note": _difference(ours, theirs)}
        names = ("assay", f"assay with {PEER}", "assay on a blank canvas, without imputation")
        return [
            {**common, "who": who, "seconds": taken, "figure": f"{taken:,.2f} s", "ratio": f"{times[1] / taken:.1f}x"}
            for who, taken in zip(names, times, strict=True)
        ]


def _scored(metric: Soundness, trial: Trial) -> Score:
    return metric.reduce(metric(trial))


def _published(metric: Soundness, trial: Trial) -> Score:
    """The score with the published imputation in place of ours."""

    def imputed(x: Tensor, removed: Tensor) -> Tensor:
        return reference(x.contiguous(), removed)

    with patch.object(impute, "impute", imputed):
        return _scored(metric, trial)


def _difference(ours: Score, theirs: Score) -> str:
    """How much the two disagree. Their imputed pixels differ by less than the noise added to them."""
    assert ours.at is not None
    assert theirs.at is not None
    accuracy = float(np.abs(np.asarray(ours.at, dtype=np.float64) - np.asarray(theirs.at, dtype=np.float64)).max())
    return f"largest difference of accuracy at a step: {accuracy:.3f}"
