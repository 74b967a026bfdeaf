"""The deletion curve against Quantus' PixelFlipping: the same entries replaced in the same order, the same curve.

PixelFlipping flips entries, each channel of a pixel on its own, so that here a feature is an entry for both. Its curve
begins after the first step; ours also has the whole input, which is left out of the comparison and not of the time.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

import torch
from torch import Tensor

from assay.core.trial import Trial
from assay.metrics.deletion import Deletion
from benchmarks.deletion_curve import SIDE, cifar_scene, noise_map
from benchmarks.measuring import Problem
from benchmarks.problems import Boxes, peer

IMAGES = 64
IN_STEP = 64  # entries replaced in a step; Quantus asks for a divisor of 32 * 32
PER_BATCH = 64  # images in one call of Quantus, its default


def problems() -> list[Problem]:
    return [_problem(IMAGES)]


def _problem(images: int) -> Problem:
    quantus, name = peer("quantus", "quantus", "'quantus==0.6.0' -c constraints.txt")
    entries = (3, SIDE, SIDE)
    steps = prod(entries) // IN_STEP
    scene = cifar_scene(images)
    scene = replace(scene, setting=replace(scene.setting, features=Boxes(entries, entries)))
    ranks = (
        noise_map(scene).flatten(1).argsort(dim=1).view_as(scene.samples.x)
    )  # equal numbers have no order in Quantus
    trial, metric = Trial(scene, ranks.float()), Deletion(steps=steps)
    flipping = quantus.PixelFlipping(
        features_in_step=IN_STEP, normalise=False, perturb_baseline=0.0, disable_warnings=True
    )
    arrays = {"x_batch": scene.samples.x.numpy(), "y_batch": scene.target.numpy(), "a_batch": trial.map.numpy()}

    def curves() -> Tensor:
        return torch.from_numpy(metric(trial)["curve"])[:, 1:]

    def flipped() -> Tensor:
        return torch.tensor(flipping(model=scene.setting.model, **arrays, batch_size=PER_BATCH))

    statement = f"ResNet-20, {images} images of {SIDE}x{SIDE}, {steps} steps of {IN_STEP} entries"
    return Problem(statement, images, curves, flipped, f"{name}, batch_size={PER_BATCH}")
