"""Noise feature mass (Katakam, 2026)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from assay.core.errors import NotApplicable
from assay.core.evidence import Evidence
from assay.core.facts import Varies
from assay.core.trial import Trial
from assay.kit.soft_precision import precision
from assay.metrics._counting import counting_samples, some_not_all
from assay.metrics._rows import rows


@dataclass(frozen=True)
class NoiseMass:
    """Share of the absolute attribution that lies on features without effect.

    Without effect in this sample, or in every sample of the environment: these differ where the rule uses other
    features for another class, and the paper can be read either way. Undefined for a map of zeros, and where no feature
    or every feature is noise (ours).
    """

    noise: Literal["effect", "index"] = "effect"  # features with effect 0 in the sample, or in every sample
    samples: Literal["all", "correct"] = "all"  # which samples count: all, or those that the model predicts correctly

    higher_is_better: ClassVar[bool] = False
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    ideal: ClassVar[float] = 0.0
    needs: ClassVar[tuple[str, ...]] = ("truth",)
    invariant: ClassVar[tuple[str, ...]] = ("scale",)
    exact_on_linear: ClassVar[bool] = False
    cost: ClassVar[str] = "no model call"
    varies: ClassVar[Varies] = (("samples", "correct", {"cost": "1 model row a sample"}),)
    paper: ClassVar[str] = "AGOP-IxG (Katakam, 2026), section 4.3; arXiv:2605.15700"

    def __call__(self, trial: Trial) -> Evidence:
        size, noise = trial.map.flatten(1).abs().double(), self._noise(trial)
        defined = size.any(dim=1) & some_not_all(noise) & counting_samples(trial, self.samples)
        return rows(value=precision(size, noise.double()).where(defined, 0.0), defined=defined)

    def _noise(self, trial: Trial) -> Tensor:
        """Which features are noise: bool (B, P)."""
        if self.noise == "effect":
            return trial.effect.flatten(1) == 0
        informative = trial.scene.setting.informative
        if informative is None:
            raise NotApplicable("this environment does not say which features never count: write noise='effect'")
        noise = torch.ones_like(trial.map.flatten(1), dtype=torch.bool)
        noise[:, list(informative)] = False
        return noise
