"""ROAD, most relevant first (Rong et al., 2022)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from assay.core.evidence import Evidence
from assay.core.trial import Trial
from assay.metrics._road import check_ratios, removed


@dataclass(frozen=True)
class Road:
    """Accuracy left when the features of highest attribution are removed (MoRF), averaged over shares removed.

    Imputed as ROAD does it, without retraining; on tables another canvas is needed. The value is the mean over
    ``ratios`` (ours: the paper shows curves); by accuracy it is 0 or 1 per sample and ratio, against the true label, so
    that the mean over samples is the set's accuracy. ``road_lerf`` removes the lowest first. A constant map is ranked
    by its ties alone. Undefined where the model has no finite answer.
    """

    ratios: tuple[float, ...] = (0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9)  # shares removed; Li et al.: 0.1, 0.2, ..., 0.9
    by: Literal["accuracy", "probability"] = "accuracy"  # is the true class chosen, or how probable is the target
    absolute: bool = False  # rank by the size of the attribution, whatever its sign
    ties: Literal["random", "stable"] = "random"  # equal attributions: shuffled per sample, or in reading order
    canvas: str | float = "impute"  # what replaces a feature: impute, zero, true, mean, uniform, blur, noise, a number
    jitter: float = 0.01  # deviation of the noise on imputed pixels

    higher_is_better: ClassVar[bool] = False
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    ideal: ClassVar[float] = 0.0
    invariant: ClassVar[tuple[str, ...]] = ("scale", "shift", "monotone")
    varies: ClassVar[tuple[tuple[str, object, str], ...]] = (("absolute", True, "shift"),)
    exact_on_linear: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ("model", "label")
    cost: ClassVar[str] = "a model row a sample for each ratio, imputed"
    axes: ClassVar[tuple[str, str]] = ("share of features removed, highest first", "{read} left")
    controls: ClassVar[str] = "not told apart from the best method: edge_map (colour count with unseen-data effect)"
    paper: ClassVar[str] = "ROAD (Rong et al., 2022); A Dual-Perspective Approach (Li et al., 2024)"

    def __post_init__(self) -> None:
        check_ratios("road", self.ratios)

    def __call__(self, trial: Trial) -> Evidence:
        return removed(trial, False, self.ratios, self.by, self.absolute, self.ties, self.canvas, self.jitter)
