"""A deletion curve compared with the model's forward passes alone over as many rows: the metric's own cost."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Any

import torch
from torch import Tensor

from assay.core.features import Pixels
from assay.core.query import Query
from assay.core.question import Question
from assay.core.rng import Stream
from assay.core.setting import Samples, Setting
from assay.core.trial import Scene, Trial
from assay.metrics.deletion import Deletion
from assay.train.named import begin, network_by_name
from benchmarks.measuring import Measured, seconds

SIDE, IMAGES, POINTS = 32, 64, 33


def problems() -> list[Measured]:
    return [Curve()]


def cifar_scene(images: int) -> Scene:
    """ResNet-20 for CIFAR-10 with random weights, normal noise of 32 x 32 pixels, labels as predicted."""
    random = torch.Generator().manual_seed(0)
    network = network_by_name("resnet20", SIDE, 10)
    begin(network, random)
    network.eval().requires_grad_(False)
    x = torch.randn(images, 3, SIDE, SIDE, generator=random)
    question = Question("probability", 1.0, "zero", "label")
    with torch.no_grad():
        label = network(x).argmax(dim=1)
    setting = Setting(network, Pixels(3, SIDE, SIDE), "image", question)
    return Scene(setting, Samples(x, label, None, tuple(range(images))), question, label, Stream("bench"))


def noise_map(scene: Scene) -> Tensor:
    """A random number per pixel: as rough as maps of gradients."""
    shape = (len(scene.samples), *scene.setting.features.shape)
    return torch.rand(shape, generator=torch.Generator().manual_seed(1))


@dataclass(frozen=True)
class Curve:
    """CPU seconds of the metric and of the passes alone, in the same batches."""

    images: int = IMAGES
    points: int = POINTS

    def rows(self, task: str, repeats: int) -> list[dict[str, Any]]:
        scene, metric = cifar_scene(self.images), Deletion(steps=self.points - 1)
        trial, query = Trial(scene, noise_map(scene)), scene.ask()
        works = (lambda: metric(trial), lambda: self._passes(query))
        for work in works:
            work()  # warms up
        runs = [[seconds(work) for work in works] for _ in range(repeats)]
        ours, passes = (median(column) for column in zip(*runs, strict=True))
        note = f"the metric takes {ours / passes:.2f}x its forward passes"
        statement = f"ResNet-20, {self.images} images of {SIDE}x{SIDE}, {self.points} points"
        common = {"task": task, "problem": statement, "repeats": repeats, "note": note}
        return [
            {**common, "who": who, "seconds": taken, "figure": f"{taken:,.2f} s", "ratio": f"{taken / passes:.2f}x"}
            for who, taken in (("assay", ours), ("the forward passes alone", passes))
        ]

    def _passes(self, query: Query) -> list[Tensor]:
        return [
            query.score(query.x.expand(part.stop - part.start, *query.x.shape)) for part in query.parts(self.points)
        ]
