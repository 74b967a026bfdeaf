"""ROAD (Rong et al., 2022)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch

from assay.core.errors import SpecError
from assay.core.evidence import Evidence
from assay.core.facts import Varies
from assay.core.question import Question
from assay.core.trial import Trial
from assay.kit.curves import counts_of_shares
from assay.metrics._order import feature_order, mean_rows, read_without_first, removal_and_read
from assay.metrics._removal import one_canvas


@dataclass(frozen=True)
class Road:
    """Accuracy left when the features of highest or of lowest attribution are removed, averaged over shares removed.

    Most relevant first (MoRF), lower is better; least relevant first (``order='lerf'``, ``road_lerf``), higher is
    better. Removed pixels are imputed as in ROAD, without retraining; tables need another canvas. The value is the mean
    over ``ratios`` (ours: the paper shows curves). By accuracy it is 0 or 1 per sample and ratio, against the true
    label, so that the mean over samples is the set's accuracy. Ratios are shares removed, as in Li et al., rounded down
    to whole features. For LeRF, the code of Rong et al. rounds down what stays, which removes one more feature if a
    share is not a whole number of features. A constant map is ranked by its ties alone. Undefined where the model has
    no finite answer.
    """

    order: Literal["morf", "lerf"] = "morf"  # removed first: the highest attribution, or the lowest
    ratios: tuple[float, ...] = (0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9)  # shares removed; Li et al.: 0.1, 0.2, ..., 0.9
    by: Literal["accuracy", "probability"] = "accuracy"  # is the true class chosen, or the target's probability
    absolute: bool = False  # rank by absolute attribution
    ties: Literal["random", "stable"] = "random"  # equal attributions: shuffled per sample, or in reading order
    canvas: str | float = "impute"  # for features: impute, zero, true, mean, colour, uniform, blur, noise or a number
    jitter: float = 0.01  # deviation of the noise on imputed pixels

    higher_is_better: ClassVar[bool] = False
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    ideal: ClassVar[float] = 0.0
    invariant: ClassVar[tuple[str, ...]] = ("scale", "shift", "monotone")
    exact_on_linear: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ("model", "label")
    cost: ClassVar[str] = "a model row a sample for each ratio, imputed"
    axes: ClassVar[tuple[str, str]] = ("share of features removed, highest first", "{read} left")
    varies: ClassVar[Varies] = (
        (
            "order",
            "lerf",
            {
                "higher_is_better": True,
                "ideal": 1.0,
                "axes": ("share of features removed, lowest first", "{read} left"),
            },
        ),
        ("absolute", True, "shift"),
    )
    aliases: ClassVar[tuple[tuple[str, str, object], ...]] = (("road_lerf", "order", "lerf"),)
    paper: ClassVar[str] = "ROAD (Rong et al., 2022); A Dual-Perspective Approach (Li et al., 2024)"

    def __post_init__(self) -> None:
        if not self.ratios or min(self.ratios) < 0 or max(self.ratios) > 1:
            raise SpecError(f"road: ratios={self.ratios} must be one or more numbers from 0 to 1.")

    def __call__(self, trial: Trial) -> Evidence:
        removal, read = removal_and_read(
            trial.scene, self.by, one_canvas(self.canvas), Question("probability"), self.jitter
        )
        order = feature_order(trial, self.absolute, self.ties, lowest=self.order == "lerf")
        counts = counts_of_shares(order.shape[1], self.ratios)
        return mean_rows(
            read_without_first(removal, order, counts, read), torch.tensor(self.ratios, dtype=torch.float64)
        )
