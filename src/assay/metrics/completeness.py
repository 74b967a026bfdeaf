"""Completeness (Li et al., 2024)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from assay.core.evidence import Evidence, Score
from assay.core.facts import Varies
from assay.core.question import Question
from assay.core.trial import Scene, Trial
from assay.kit.feature_orders import above_thresholds
from assay.metrics._removal import Removal, one_canvas
from assay.metrics._rows import rows
from assay.metrics._soco import correct_and_score, on_grid, readout_of, strengths

LEVELS = tuple(step / 10 for step in reversed(range(1, 10)))  # 0.9, ..., 0.1 of the largest attribution


@dataclass(frozen=True)
class Completeness:
    """Accuracy lost when every feature with attribution above a level is removed, averaged over nine levels.

    Accuracy is against the true label, over the whole set of samples. Features strictly above 0.9, ..., 0.1 of the
    map's largest value are removed and, in images, imputed; a feature that only rounding lifts above a level stays
    (ours). With transform ``abs``, a constant map removes nothing and loses no accuracy. The indicator "probability"
    measures the loss of the target's mean probability. "sample" measures the loss of each sample's own score, so that
    every sample has a value; readouts other than probability have the model's own range. Undefined where the model has
    no finite answer.
    """

    transform: Literal["abs", "clamp", "positive"] = "abs"  # sizes stretched to 0..1 (code), values cut to 0..1 or at 0
    canvas: str | float = "impute"  # impute, zero, true, mean, row, colour, uniform, blur, noise or a number
    jitter: float = 0.01  # deviation of the noise on imputed pixels
    indicator: Literal["accuracy", "probability", "sample"] = "accuracy"  # of the set, or each sample's own score
    readout: Literal["logit", "probability", "margin", "value"] = "probability"  # of "sample": which score

    higher_is_better: ClassVar[bool] = True
    range: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    ideal: ClassVar[float] = 1.0
    invariant: ClassVar[tuple[str, ...]] = ("scale",)
    varies: ClassVar[Varies] = (
        ("transform", "clamp", "scale"),
        ("readout", "logit", "range"),
        ("readout", "margin", "range"),
        ("readout", "value", "range"),
    )
    exact_on_linear: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ("model", "label")
    cost: ClassVar[str] = "9 model rows a sample, each imputed, and one that all methods share"
    axes: ClassVar[tuple[str, str]] = ("level, as a share of the largest attribution", "{read} lost")
    paper: ClassVar[str] = "A Dual-Perspective Approach (Li et al., 2024), algorithms 2 and 4"

    def probe(self, scene: Scene) -> dict[str, Tensor]:
        """What is read off the intact inputs (B,)."""
        removal = self._removal(scene)
        return {"clean": self._read(removal, scene)(removal.query.x[None])[0]}

    def __call__(self, trial: Trial) -> Evidence:
        clean = (trial.probe or self.probe(trial.scene))["clean"]
        removal, strength = self._removal(trial.scene), strengths(trial, self.transform)
        levels = torch.tensor(LEVELS, dtype=torch.float64, device=strength.device)
        bars = on_grid(levels, strength.dtype)
        strength = on_grid(strength, strength.dtype).view(-1, *trial.scene.setting.features.shape)
        read = self._read(removal, trial.scene)
        left = removal.each(len(bars), lambda part: above_thresholds(strength, bars[part]), read).T  # (B, levels)
        defined = clean.isfinite() & left.isfinite().all(dim=1)
        clean, left = clean.where(defined, 0.0), left.where(defined[:, None], 0.0)
        values = {"value": (clean[:, None] - left).mean(dim=1)} if self.indicator == "sample" else {}
        return rows(levels, clean=clean, left=left, defined=defined, **values)

    def reduce(self, evidence: Evidence) -> Score:
        """The mean over the set for intact inputs, minus the mean without the features above each level."""
        defined = evidence.defined
        count = int(defined.sum())
        if count == 0:
            return Score(None, len(evidence), 0)
        clean = evidence["clean"][defined].astype(np.float64)
        left = evidence["left"][defined].astype(np.float64)
        curve = np.asarray(clean.mean() - left.mean(axis=0))
        return Score(float(curve.mean()), len(evidence), count, curve)

    def _removal(self, scene: Scene) -> Removal:
        question = Question(readout_of(self.indicator, self.readout))
        return Removal.of(
            scene, one_canvas(self.canvas), question, self.jitter, classes="completeness is a loss of accuracy"
        )

    def _read(self, removal: Removal, scene: Scene) -> Callable[[Tensor], Tensor]:
        read, column = correct_and_score(removal.query, scene.samples.label), int(self.indicator != "accuracy")
        return lambda points: read(points)[..., column]
