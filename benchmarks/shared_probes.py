"""Metrics with a probe: the cost of judging ten methods compared with one, when the probe is computed once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import torch

from assay.core.features import Pixels
from assay.core.machine import Machine
from assay.core.protocols import Metric, Probing
from assay.core.question import Question
from assay.core.rng import Stream
from assay.core.setting import Samples, Setting
from assay.core.trial import Scene, Trial
from assay.metrics.sensitivity_n import SensitivityN
from assay.metrics.single_deletion import SingleDeletion
from assay.train.networks import initialise
from assay.train.resnet import resnet
from benchmarks.measuring import Measured, seconds

SIDE, IMAGES, MAPS = 32, 16, 10
MOST_COST = 1.3  # times the cost of one map


def problems() -> list[Measured]:
    return [
        Shared("Sensitivity-N, 16 sizes, 10 sets", SensitivityN(sizes=16, sets=10)),
        Shared("single deletion", SingleDeletion()),
    ]


def resnet20_scene(images: int) -> Scene:
    """ResNet-20 with random weights, normal noise of 32 x 32 pixels, logits."""
    random = torch.Generator().manual_seed(0)
    network = resnet(20, 10)
    initialise(network, random)
    x, label = torch.randn(images, 3, SIDE, SIDE, generator=random), torch.arange(images) % 10
    question = Question("logit", 1.0, "zero", "label")
    setting = Setting(network.eval().requires_grad_(False), Pixels(3, SIDE, SIDE), "image", question)
    return Scene(setting, Samples(x, label, None, tuple(range(images))), question, label, Stream("bench"), Machine())


@dataclass(frozen=True)
class Shared:
    """CPU seconds of a metric for one map, and for ten with one probe."""

    name: str
    metric: Metric
    images: int = IMAGES

    def rows(self, task: str, repeats: int) -> list[dict[str, Any]]:
        scene = resnet20_scene(self.images)
        random = torch.Generator().manual_seed(1)
        trials = [Trial(scene, torch.randn(scene.samples.x.shape, generator=random)) for _ in range(MAPS)]
        self._judge(trials[:1])()  # the first call warms up
        runs = [[seconds(self._judge(group)) for group in (trials[:1], trials)] for _ in range(repeats)]
        one, ten = (median(column) for column in zip(*runs, strict=True))
        common = {
            "task": task,
            "problem": f"{self.name}: ResNet-20, {self.images} images of {SIDE}x{SIDE}",
            "repeats": repeats,
            "note": f"ten maps for {ten / one:.2f}x the cost of one; at most {MOST_COST}x is the aim",
        }
        times = ((f"{MAPS} maps, one probe", ten), ("one map", one))
        return [
            {**common, "who": who, "seconds": taken, "figure": f"{taken:,.2f} s", "ratio": f"{taken / one:.2f}x"}
            for who, taken in times
        ]

    def _judge(self, trials: list[Trial]) -> Callable[[], object]:
        """Compute the probe once, as a study does, then judge every map."""

        def work() -> object:
            assert isinstance(self.metric, Probing)
            probe = self.metric.probe(trials[0].scene)
            return [self.metric(replace(trial, probe=probe)) for trial in trials]

        return work
