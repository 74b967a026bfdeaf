"""ROAD, least relevant first (Rong et al., 2022)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from assay.core.evidence import Evidence
from assay.core.trial import Trial
from assay.metrics._road import check_ratios, removed


@dataclass(frozen=True)
class RoadLerf:
    """Accuracy left when the features of lowest attribution are removed (LeRF), averaged over shares removed.

    Imputed as ROAD does it, without retraining; on tables another canvas is needed. The value is the mean over
    ``ratios`` (ours: the paper shows curves); by accuracy it is 0 or 1 per sample and ratio, against the true label, so
    that the mean over samples is the set's accuracy. ``road`` removes the highest first. Ratios are shares removed, as
    Li et al. count them, rounded down to whole features; the code of Rong et al. counts what stays and rounds that
    down, which removes one more where a share is no whole number of features. A constant map is ranked by its ties
    alone. Undefined where the model has no finite answer.
    """

    ratios: tuple[float, ...] = (0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9)  # shares removed; Li et al.: 0.1, 0.2, ..., 0.9
    by: Literal["accuracy", "probability"] = "accuracy"  # is the true class chosen, or how probable is the target
    absolute: bool = False  # rank by the size of the attribution, whatever its sign
    ties: Literal["random", "stable"] = "random"  # equal attributions: shuffled per sample, or in reading order
    canvas: str | float = "impute"  # what replaces a feature: impute, zero, true, mean, uniform, blur, noise, a number
    jitter: float = 0.01  # deviation of the noise on imputed pixels

    higher_is_better: ClassVar[bool] = True
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    ideal: ClassVar[float] = 1.0
    invariant: ClassVar[tuple[str, ...]] = ("scale", "shift", "monotone")
    varies: ClassVar[tuple[tuple[str, object, str], ...]] = (("absolute", True, "shift"),)
    exact_on_linear: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ("model", "label")
    cost: ClassVar[str] = "a model row a sample for each ratio, imputed"
    axes: ClassVar[tuple[str, str]] = ("share of features removed, lowest first", "{read} left")
    controls: ClassVar[str] = (
        "not told apart from the best method: edge_map (colour count with unseen-data effect and CIFAR-10)"
    )
    paper: ClassVar[str] = "ROAD (Rong et al., 2022); A Dual-Perspective Approach (Li et al., 2024)"

    def __post_init__(self) -> None:
        check_ratios("road_lerf", self.ratios)

    def __call__(self, trial: Trial) -> Evidence:
        return removed(trial, True, self.ratios, self.by, self.absolute, self.ties, self.canvas, self.jitter)
