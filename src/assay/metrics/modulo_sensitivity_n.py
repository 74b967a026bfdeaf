"""Sensitivity-N where one feature can undo another: count modulo N (Zhang et al., 2023)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from assay.core.evidence import Evidence, Score
from assay.core.trial import Trial
from assay.kit.ranks import nested_sums, pearson
from assay.metrics._pair import whole
from assay.metrics._rows import rows
from assay.metrics._sets import nested_sets, point_by_point

ROUNDING = 1e-12  # relative: attribution sums closer than this are equal


@dataclass(frozen=True)
class ModuloSensitivityN:
    """Correlation of the attribution of N random features with the number of true ones among them, averaged over N.

    Features are perturbed one at a time, in random orders; a step that changes the output has met a feature that
    counts. So the output change, added up over the steps, is the number of true features met, and no model is needed.
    At every N this estimates one and the same number, the correlation of attribution and truth over the features of the
    sample: the curve is flat but for chance. The paper goes through every N. Undefined at an N where the sums or the
    numbers are constant; the value is the mean over the others.
    """

    sizes: int = 16  # values of N, evenly spaced in their logarithm from 1 to all features but one
    sets: int = 100  # random orders
    absolute: bool = True  # add up sizes of attribution: this truth has no sign

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
        true, values = whole(trial), trial.map.flatten(1)
        sizes, orders = nested_sets(trial.scene, self.sizes, self.sets)
        sums = nested_sums(values.abs() if self.absolute else values, orders, sizes).transpose(1, 2)  # (B, sizes, sets)
        met = nested_sums(true, orders, sizes).transpose(1, 2)
        equal = ROUNDING * sums.abs().amax(dim=-1)
        curve, defined = pearson(sums, met, equal, equal.new_zeros(()))
        count = defined.sum(dim=1)
        value = curve.sum(dim=1) / count.clamp(min=1)
        return rows(sizes, value=value, defined=count > 0, curve=curve, curve_defined=defined)

    def reduce(self, evidence: Evidence) -> Score:
        """The mean over defined samples; the curve likewise, point by point."""
        return point_by_point(evidence)
