"""Named parts of inputs, such as the regions of objects, shown alone or left out."""

from __future__ import annotations

from torch import Tensor

from assay.core.errors import NotApplicable
from assay.core.setting import Setting
from assay.core.trial import baseline_for


def part_of(setting: Setting, name: str) -> Tensor:
    """The part of this name, bool (*features), or NotApplicable."""
    if not setting.parts:
        raise NotApplicable("needs named parts of the input, and this environment has none")
    if name not in setting.parts:
        raise NotApplicable(f"there is no part '{name}' in this environment, only {', '.join(setting.parts)}")
    return setting.parts[name]


def only(setting: Setting, keep: Tensor, x: Tensor) -> Tensor:
    """Inputs (N, *entries) with the environment's baseline outside of ``keep``, bool (*features)."""
    baseline = baseline_for(setting, setting.question.baseline, x)
    return x.where(setting.features.expand(keep), baseline)
