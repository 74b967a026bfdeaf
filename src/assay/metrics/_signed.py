"""What a map claims and what is true, on one scale and for one sign."""

from __future__ import annotations

import torch
from torch import Tensor

from assay.core.errors import NotApplicable, SpecError
from assay.core.trial import Trial
from assay.kit.smooth import blur
from assay.kit.soft import normalised, scaled, signed

UNITS = 32  # in the last place: what sums over a network's layers, and over hundreds of steps, leave of a 0


def effect(trial: Trial, truth: str) -> Tensor:
    """What is held against the map: the effect on the explained number, or the one that the document states, which is
    about the probability: signed always."""
    return trial.effect if truth == "explained" else trial.scene.truth.effect


def without_rounding(trial: Trial) -> Tensor:
    """The map (B, P) in float64, with 0 where a value is nothing but rounding.

    That is what lies below some units in the last place of the map's largest value, or of the sizes that the method
    says it added up: where these cancel, the largest value of a map can itself be rounding.
    """
    values = trial.map.flatten(1)
    unit = torch.finfo(values.dtype).eps * values.abs().amax(dim=1, keepdim=True)
    if trial.resolution is not None:
        unit = torch.maximum(unit, trial.resolution.flatten(1))
    return values.double().where(values.abs() > UNITS * unit, 0.0)


def claimed_and_true(trial: Trial, sign: str, smooth: float, truth: str) -> tuple[Tensor, Tensor]:
    """Both (B, P) in [0, 1]; the truth is blurred after its sign is picked, and brought back to 1."""
    claimed = signed(normalised(without_rounding(trial)), sign)
    true = signed(normalised(effect(trial, truth).flatten(1)), sign)
    if smooth < 0:
        raise SpecError(f"smooth={smooth:g} is a width: 0 or more.")
    if smooth == 0:
        return claimed, true
    if trial.scene.setting.kind != "image":
        raise NotApplicable("a smooth truth needs images")
    return claimed, scaled(blur(true.view_as(trial.effect), smooth).flatten(1))
