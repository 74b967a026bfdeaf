"""Insertion (Petsiuk et al., 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from assay.core.errors import NotApplicable
from assay.core.evidence import Evidence
from assay.core.trial import Trial
from assay.kit.curves import even_counts
from assay.metrics._order import area_rows, ordered, read_by, without_first


@dataclass(frozen=True)
class Insertion:
    """Area under the model's answer while features appear on a blank canvas, highest attribution first.

    Drawn over the share of features inserted, from the bare canvas to the whole input. The paper's text sorts in
    ascending order yet calls higher better; this is descending, as Petsiuk et al. define it. What is read is what the
    environment asks about, which is what methods explain unless a study asks otherwise (ours); both papers read
    probabilities: readout='probability', in [0, 1]; other readouts have the model's own range. By accuracy, 1 where the
    model chooses the true class and 0 otherwise: the mean over samples is the accuracy of the set. A constant map is
    ranked by its ties alone. Undefined where the model has no finite answer.
    """

    steps: int = 32  # steps of the curve, each one pass through the model; at most one a feature
    absolute: bool = False  # rank by the size of the attribution, whatever its sign
    ties: Literal["stable", "random"] = "stable"  # equal attributions: in reading order, or shuffled per sample
    canvas: str | float = "zero"  # where a feature is missing: zero, true, mean, uniform, blur, noise or a number
    readout: Literal["logit", "probability", "margin", "value"] | None = None  # None: as the environment asks
    temperature: float | None = None  # None: as the environment asks
    by: Literal["score", "accuracy"] = "score"  # what is drawn: the explained number, or 1 where the true class wins

    higher_is_better: ClassVar[bool] = True
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)  # for probabilities and accuracy
    ideal: ClassVar[float] = 1.0
    needs: ClassVar[tuple[str, ...]] = ("model",)
    cost: ClassVar[str] = "steps + 1 model rows a sample"
    invariant: ClassVar[tuple[str, ...]] = ("scale", "monotone")
    varies: ClassVar[tuple[tuple[str, object, str], ...]] = (
        ("readout", "logit", "range"),
        ("readout", "margin", "range"),
        ("readout", "value", "range"),
        ("readout", None, "range"),
    )
    exact_on_linear: ClassVar[bool] = False
    axes: ClassVar[tuple[str, str]] = ("share of features inserted", "{read}")
    paper: ClassVar[str] = "RISE (Petsiuk et al., 2018), section 4.2; AttributionLab (Zhang et al., 2023), appendix G.4"

    @property
    def best_on_linear(self) -> bool:
        """By size, features that speak against come as early as those that speak for."""
        return not self.absolute

    def __call__(self, trial: Trial) -> Evidence:
        if self.canvas == "impute":
            raise NotApplicable(
                "inserts on a whole canvas, which cannot be imputed: write canvas='blur', or ask deletion"
            )
        removal, read = read_by(trial.scene, self.by, self.readout, self.temperature, self.canvas, 0.0)
        order = ordered(trial, self.absolute, self.ties)
        counts = even_counts(order.shape[1], self.steps)
        # To have inserted the highest is to have left out the others, from the lowest on.
        return area_rows(without_first(removal, order.flip(1), counts[-1] - counts, read), counts)
