"""Completeness (Li et al., 2024)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from assay.core.errors import NotApplicable
from assay.core.evidence import Evidence, Score
from assay.core.query import Query
from assay.core.question import Question
from assay.core.trial import Scene, Trial, per_feature
from assay.kit.masks import above
from assay.kit.soft import scaled
from assay.metrics._ask import classifies
from assay.metrics._rows import rows

LEVELS = tuple(step / 10 for step in reversed(range(1, 10)))  # 0.9, ..., 0.1 of the largest attribution


@dataclass(frozen=True)
class Completeness:
    """Accuracy lost when every feature with attribution above a level is replaced, averaged over nine levels.

    Accuracy is against the true label, over the whole set of samples. Features strictly above 0.9, ..., 0.1 of the
    map's largest value are replaced by a constant canvas (the paper imputes). A constant map names nothing, so nothing
    is replaced and it loses no accuracy.
    """

    transform: Literal["abs", "clamp"] = "abs"  # sizes stretched to 0..1 (the code), or values cut to 0..1 (the paper)
    canvas: str | float = "zero"  # what replaces a feature: zero, true, mean, uniform or a number

    higher_is_better: ClassVar[bool] = True
    range: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    ideal: ClassVar[float] = 1.0
    needs: ClassVar[tuple[str, ...]] = ("model", "label")
    axes: ClassVar[tuple[str, str]] = ("level, as a share of the largest attribution", "accuracy lost")
    paper: ClassVar[str] = "A Dual-Perspective Approach (Li et al., 2024), algorithm 2"

    def probe(self, scene: Scene) -> dict[str, Tensor]:
        """Which inputs are classified correctly as they are (B,)."""
        query = self._query(scene)
        return {"clean": query.outputs(query.x).argmax(dim=-1) == scene.samples.label}

    def __call__(self, trial: Trial) -> Evidence:
        clean = (trial.probe or self.probe(trial.scene))["clean"]
        query, height = self._query(trial.scene), self._height(trial)
        levels = torch.tensor(LEVELS, dtype=height.dtype, device=height.device)

        def predicted(part: slice) -> Tensor:
            drop = query.setting.features.expand(above(height, levels[part]))
            return query.outputs(torch.where(drop, query.baseline, query.x)).argmax(dim=-1)

        classes = torch.cat([predicted(part) for part in query.parts(len(levels))])  # (levels, B)
        kept = (classes == trial.scene.samples.label).T
        return rows(levels, clean=clean, kept_correct=kept, defined=torch.ones_like(clean))

    def reduce(self, evidence: Evidence) -> Score:
        """Clean accuracy minus accuracy without the features above each level."""
        defined = evidence.defined
        count = int(defined.sum())
        if count == 0:
            return Score(None, len(evidence), 0)
        clean = evidence["clean"][defined].astype(np.float64)
        kept = evidence["kept_correct"][defined].astype(np.float64)
        curve = np.asarray(clean.mean() - kept.mean(axis=0))
        return Score(float(curve.mean()), len(evidence), count, curve)

    def _query(self, scene: Scene) -> Query:
        query = scene.ask(Question(readout="value"), baseline=self.canvas)
        if not classifies(query):
            raise NotApplicable("needs a classifier: completeness is a loss of accuracy")
        return query

    def _height(self, trial: Trial) -> Tensor:
        """Attribution (B, *features) over its largest value."""
        raw, features = trial.attribution, trial.scene.setting.features
        if self.transform == "clamp":
            height = per_feature(raw, features).clamp(0, 1).flatten(1)
        else:
            height = per_feature(raw.abs(), features).flatten(1)
            height = height - height.amin(dim=1, keepdim=True)
        return scaled(height).view(-1, *features.shape)
