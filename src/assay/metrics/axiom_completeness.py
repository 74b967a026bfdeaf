"""A test of the completeness axiom (Sundararajan et al., 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch

from assay.core.evidence import Evidence
from assay.core.trial import Trial
from assay.kit.rounding import answer_rounding
from assay.metrics._gap import relative_gap
from assay.metrics._rows import rows


@dataclass(frozen=True)
class AxiomCompleteness:
    """How far the attribution is from adding up to what it explains: the input's score minus the baseline's.

    |sum of a - (f(x) - f(baseline))|, relative to the larger of the two sizes: 0 where they are equal, 1 where one is
    0, 2 where they are opposite. Readout and baseline are those of the method's question. Undefined where sum and
    change are both 0, up to rounding, and where the model has no finite answer. Not the metric ``completeness``, which
    removes features. A method with a random baseline is complete on average only.
    """

    higher_is_better: ClassVar[bool] = False
    range: ClassVar[tuple[float, float]] = (0.0, 2.0)
    ideal: ClassVar[float] = 0.0
    needs: ClassVar[tuple[str, ...]] = ("model", "method")
    cost: ClassVar[str] = "2 model rows a sample"
    invariant: ClassVar[tuple[str, ...]] = ()
    exact_on_linear: ClassVar[bool] = True
    paper: ClassVar[str] = "Axiomatic Attribution for Deep Networks (Sundararajan et al., 2017)"

    def __call__(self, trial: Trial) -> Evidence:
        query = trial.scene.ask(trial.scene.question)
        scores = torch.stack([query.score(query.x), query.score(query.baseline)])
        finite = scores.isfinite().all(dim=0)
        top, bottom = scores.double().where(finite, 0.0)
        attributions = trial.attribution.double().flatten(1)
        total, change = attributions.sum(dim=1), top - bottom
        largest = torch.maximum(attributions.abs().sum(dim=1), torch.maximum(top.abs(), bottom.abs()))
        rounding = answer_rounding(scores.dtype) * largest
        value, defined = relative_gap((total - change).abs(), total.abs(), change.abs(), rounding)
        return rows(value=value.where(finite, 0.0), defined=defined & finite)
