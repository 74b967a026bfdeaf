"""What a map claims and what is true, on one scale and for one sign."""

from __future__ import annotations

from torch import Tensor

from assay.core.errors import NotApplicable, SpecError
from assay.core.trial import Trial
from assay.kit.smooth import blur
from assay.kit.soft import normalised, scaled, signed


def claimed_and_true(trial: Trial, sign: str, smooth: float) -> tuple[Tensor, Tensor]:
    """Both (B, P) in [0, 1]; the truth is blurred after its sign is picked, and brought back to 1."""
    claimed = signed(normalised(trial.map.flatten(1)), sign)
    true = signed(normalised(trial.effect.flatten(1)), sign)
    if smooth < 0:
        raise SpecError(f"smooth={smooth:g} is a width: 0 or more.")
    if smooth == 0:
        return claimed, true
    if trial.scene.setting.kind != "image":
        raise NotApplicable("a smooth truth needs images")
    return claimed, scaled(blur(true.view_as(trial.effect), smooth).flatten(1))
