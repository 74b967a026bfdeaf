"""Sensitivity-N where one feature can undo another: count modulo N (Zhang et al., 2023)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from assay.core.evidence import Evidence, Score
from assay.core.trial import Trial
from assay.kit.feature_orders import nested_sums, pearson
from assay.metrics._pair import binary_truth
from assay.metrics._rows import rows
from assay.metrics._sets import nested_sets, point_by_point

ROUNDING = 1e-12  # relative: attribution sums closer than this are equal


@dataclass(frozen=True)
class ModuloSensitivityN:
    """Correlation of the attribution of N random features with the number of true ones among them, averaged over N.

    Features are perturbed one at a time, in random orders; a step that changes the output has met a feature that
    counts. The output changes, added up over the steps, are therefore the number of true features met, and no model is
    needed. At every N this estimates the same number, the correlation of attribution and truth over the features of the
    sample: the curve is flat except for chance. The paper uses every N. Undefined at an N where the sums or the numbers
    are constant; the value is the mean over the others.
    """

    sizes: int = 16  # values of N, evenly spaced on a log scale from 1 to all features but one
    sets: int = 100  # random orders
    absolute: bool = True  # add up absolute attributions: this truth has no sign

    higher_is_better: ClassVar[bool] = True
    range: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    ideal: ClassVar[float] = 1.0
    needs: ClassVar[tuple[str, ...]] = ("truth",)
    invariant: ClassVar[tuple[str, ...]] = ("scale",)
    exact_on_linear: ClassVar[bool] = False
    cost: ClassVar[str] = "no model call"
    axes: ClassVar[tuple[str, str]] = ("N, number of features perturbed", "correlation")
    paper: ClassVar[str] = "AttributionLab (Zhang et al., 2023), appendix F.5"

    def __call__(self, trial: Trial) -> Evidence:
        true, values = binary_truth(trial), trial.map.flatten(1)
        sizes, orders = nested_sets(trial.scene, self.sizes, self.sets)
        sums = nested_sums(values.abs() if self.absolute else values, orders, sizes).transpose(1, 2)  # (B, sizes, sets)
        true_counts = nested_sums(true, orders, sizes).transpose(1, 2)
        rounding = ROUNDING * sums.abs().amax(dim=-1)
        curve, defined = pearson(sums, true_counts, rounding, rounding.new_zeros(()))
        count = defined.sum(dim=1)
        value = curve.sum(dim=1) / count.clamp(min=1)
        return rows(sizes, value=value, defined=count > 0, curve=curve, curve_defined=defined)

    def reduce(self, evidence: Evidence) -> Score:
        """The mean over defined samples; the curve likewise, point by point."""
        return point_by_point(evidence)
