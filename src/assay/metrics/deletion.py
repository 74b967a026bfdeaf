"""Deletion (Petsiuk et al., 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from assay.core.evidence import Evidence
from assay.core.trial import Trial
from assay.kit.curves import even_counts
from assay.metrics._ask import ask
from assay.metrics._order import area_rows, exchange, ordered


@dataclass(frozen=True)
class Deletion:
    """Area under the model's answer while features are replaced, highest attribution first.

    Drawn over the share of features replaced, from the whole input to the bare canvas. In [0, 1] for probabilities;
    other readouts have the model's own range. A constant map is ranked by its ties alone.
    """

    steps: int = 32  # steps of the curve, each one pass through the model; at most one a feature
    absolute: bool = False  # rank by the size of the attribution, whatever its sign
    ties: Literal["stable", "random"] = "stable"  # equal attributions: in reading order, or shuffled per sample
    canvas: str | float = "zero"  # what stands where a feature is missing: zero, true, mean, uniform or a number
    readout: Literal["logit", "probability", "margin", "value"] | None = "probability"  # None: as the environment asks
    temperature: float | None = None  # None: as the environment asks

    higher_is_better: ClassVar[bool] = False
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    ideal: ClassVar[float] = 0.0
    needs: ClassVar[tuple[str, ...]] = ("model",)
    axes: ClassVar[tuple[str, str]] = ("share of features deleted", "")
    paper: ClassVar[str] = "RISE (Petsiuk et al., 2018), section 4.2; AttributionLab (Zhang et al., 2023), appendix G.4"

    def __call__(self, trial: Trial) -> Evidence:
        query = ask(trial.scene, self.readout, self.temperature, self.canvas)
        order = ordered(trial, self.absolute, self.ties)
        counts = even_counts(order.shape[1], self.steps)
        return area_rows(exchange(query, order, counts, query.x, query.baseline), counts)
