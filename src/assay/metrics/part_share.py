"""How much of the attribution, or of the model's answer, a part of the input has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from assay.core.evidence import Evidence
from assay.core.trial import Scene, Trial
from assay.metrics._parts import only, part_of
from assay.metrics._rows import rows


@dataclass(frozen=True)
class PartShare:
    """The share of a named part of the input, in absolute attribution or in the model's own answer.

    ``of='model'`` asks no method: the part and all outside of it are the two players of a game whose value is the
    explained number, with the environment's baseline in place of what is left out. The share is the part's absolute
    Shapley value, divided by the sum of both. It depends on what replaces a region and is no truth about pixels.
    Undefined where attribution, or both Shapley values, are zero, and where an output is not finite.
    """

    part: str = "centre"  # which part, where an environment names parts
    of: Literal["attribution", "model"] = "attribution"  # whose share

    higher_is_better: ClassVar[bool] = True
    about: ClassVar[str] = "models"  # a method is not better for it
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    ideal: ClassVar[float] = 1.0
    needs: ClassVar[tuple[str, ...]] = ("model", "parts")
    invariant: ClassVar[tuple[str, ...]] = ("scale",)
    exact_on_linear: ClassVar[bool] = False
    cost: ClassVar[str] = "no model call; of='model': 4 model rows a sample, shared by all methods"
    paper: ClassVar[str] = "ours, for figure 3 of AttributionLab (Zhang et al., 2024)"

    def probe(self, scene: Scene) -> dict[str, Tensor]:
        """Absolute Shapley values (B, 2) of the part and of the rest; empty if no model is asked."""
        part = part_of(scene.setting, self.part)
        if self.of == "attribution":
            return {}
        query, setting = scene.ask(), scene.setting
        keep = (torch.zeros_like(part), part, ~part, torch.ones_like(part))
        nothing, alone, rest, complete = (query.score(only(setting, some, query.x)).double() for some in keep)
        values = (alone - nothing + complete - rest) / 2, (rest - nothing + complete - alone) / 2
        return {"sizes": torch.stack(values, dim=1).abs()}

    def __call__(self, trial: Trial) -> Evidence:
        if self.of == "model":
            sizes = (trial.probe or self.probe(trial.scene))["sizes"]
        else:
            part, size = part_of(trial.scene.setting, self.part), trial.map.double().abs()
            sizes = torch.stack([some.flatten(1).sum(dim=1) for some in (size * part, size * ~part)], dim=1)
        total = sizes.sum(dim=1)
        defined = total.isfinite() & (total > 0)
        return rows(value=(sizes[:, 0] / total).where(defined, 0.0), defined=defined)
