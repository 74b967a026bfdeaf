"""Checks of the metrics that say where the mass of a map lies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from assay.core.errors import NotApplicable
from assay.core.evidence import Evidence
from assay.core.trial import Trial
from oracles.metrics import literal_truth
from oracles.metrics.correct_samples import correct_samples_only
from oracles.metrics.refusals import refuses
from oracles.metrics.scenes import image_scene, numbers, truth_scene

Make = Callable[..., Callable[[Trial], Evidence]]


def trials() -> list[Trial]:
    """Maps per entry and per feature, in float64 and float32: of zeros, of one sign; truths empty, full and graded."""
    effect = numbers(51, 7, 6, 6).mul(0.7).round()
    effect[1], effect[2] = 0, numbers(52, 6, 6)
    effect[3, 0] = 0.3
    maps = numbers(53, 7, 2, 6, 6)
    maps[0], maps[4], maps[5] = -maps[0].abs(), 0, maps[5] * 1e-30
    image = Trial(image_scene(7, effect=effect), maps)
    table = Trial(truth_scene(effect[:, 0].float()), maps[:, 0, 0].float())
    return [image, table]


def per_feature(trial: Trial) -> list[list[float]]:
    maps: Tensor = trial.attribution.double()
    return (maps.sum(1) if maps.dim() == 4 else maps).flatten(1).tolist()


def agree(found: Evidence, expected: list[float | None]) -> None:
    np.testing.assert_allclose(found["value"], [value or 0.0 for value in expected], rtol=1e-9, atol=1e-15)
    assert found["defined"].tolist() == [value is not None for value in expected]


def check_noise_mass(make: Make) -> None:
    for trial in trials():
        sizes = [[abs(value) for value in row] for row in per_feature(trial)]
        nothing = [[value == 0 for value in row] for row in trial.effect.flatten(1).tolist()]
        expected = [literal_truth.mass(size, noise) for size, noise in zip(sizes, nothing, strict=True)]
        agree(make()(trial), expected)
        agree(make(noise="effect")(trial), expected)
        refuses(NotApplicable, "noise='effect'", partial(make(noise="index"), trial))
        count = len(sizes[0])
        for informative in ((0, 3, 4), (5,), tuple(range(count)), ()):
            setting = replace(trial.scene.setting, informative=informative)
            told = replace(trial, scene=replace(trial.scene, setting=setting))
            noise = [j not in informative for j in range(count)]
            agree(make(noise="index")(told), [literal_truth.mass(size, noise) for size in sizes])
            agree(make()(told), expected)
    correct_samples_only(make)


def check_attr_share(make: Make) -> None:
    for trial in trials():
        for sign in ("overall", "positive"):
            expected: list[float | None] = []
            for row, effect in zip(per_feature(trial), trial.effect.flatten(1).tolist(), strict=True):
                claimed = [abs(value) if sign == "overall" else max(value, 0.0) for value in row]
                region = [value != 0 for value in effect]
                share = literal_truth.mass(claimed, region)
                known = len(set(region)) == 2
                expected.append(share if sum(claimed) > 0 or not known else 0.0)  # nothing claimed: 0
            agree(make(sign=sign)(trial), expected)
            if sign == "overall":
                agree(make()(trial), expected)
    _check_li(make)


def _check_li(make: Make) -> None:
    """On maps without negative values both signs are the formula of Li et al. (2024), which guards by 1e-8."""
    region = torch.zeros(3, 6, 6)
    region[:, 1:4, 2:5] = torch.tensor([1.0, 0.2, -3.0])
    maps = numbers(54, 3, 6, 6).abs()
    inside = region.ne(0).double()
    expected = (maps * inside).sum((1, 2)) / (maps.sum((1, 2)) + 1e-8)
    for sign in ("overall", "positive"):
        np.testing.assert_allclose(make(sign=sign)(Trial(truth_scene(region), maps))["value"], expected, rtol=1e-7)
