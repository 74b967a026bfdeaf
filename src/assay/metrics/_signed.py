"""Attribution and truth on one scale and for one sign."""

from __future__ import annotations

import torch
from torch import Tensor

from assay.core.errors import NotApplicable, SpecError
from assay.core.trial import Trial
from assay.kit.blur import blur
from assay.kit.soft_precision import normalised, part_of_sign, scaled_by_largest

UNITS = 32  # in the last place: how far rounding in a network's layers, and in hundreds of steps, takes a value off 0


def effect(trial: Trial, truth: str) -> Tensor:
    """The effect that the map is compared with.

    ``explained``: the effect on the explained number. ``signed``: the effect that the document states, which is about
    the probability and always signed.
    """
    return trial.effect if truth == "explained" else trial.scene.truth.effect


def without_rounding(trial: Trial) -> Tensor:
    """The map (B, P) in float64, with 0 where a value is rounding error only.

    That is a value below ``UNITS`` units in the last place of the map's largest value, or of the sizes that the method
    says it added up: where these cancel, the largest value of a map can itself be rounding error.
    """
    values = trial.map.flatten(1)
    unit = torch.finfo(values.dtype).eps * values.abs().amax(dim=1, keepdim=True)
    if trial.resolution is not None:
        unit = torch.maximum(unit, trial.resolution.flatten(1))
    return values.double().where(values.abs() > UNITS * unit, 0.0)


def claimed_and_true(trial: Trial, sign: str, smooth: float, truth: str) -> tuple[Tensor, Tensor]:
    """Attribution and truth (B, P) in [0, 1]; the truth is blurred after its sign is picked, and scaled back to 1."""
    claimed = part_of_sign(normalised(without_rounding(trial)), sign)
    true = part_of_sign(normalised(effect(trial, truth).flatten(1)), sign)
    if smooth < 0:
        raise SpecError(f"smooth={smooth:g} is a width: write 0 or more.")
    if smooth == 0:
        return claimed, true
    if trial.scene.setting.kind != "image":
        raise NotApplicable("a smooth truth needs images")
    return claimed, scaled_by_largest(blur(true.view_as(trial.effect), smooth).flatten(1))
