"""Max-sensitivity (Yeh et al., 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from assay.core.errors import SpecError
from assay.core.evidence import Evidence
from assay.core.trial import Trial
from assay.metrics._repeat import comparable_maps
from assay.metrics._rows import rows


@dataclass(frozen=True)
class MaxSensitivity:
    """The largest change of the attribution, relative to its size, when the input changes a little.

    The largest |a(x') - a(x)| / |a(x)| (Euclidean norms; the authors' code divides, too) over inputs x' that are drawn
    uniformly from the ball of ``radius`` around x in the infinity norm: the largest of ``samples`` draws, not of the
    ball. The target stays that of x, and a random method draws the same numbers. A constant map has the best score, so
    this says nothing about truth. Undefined where the attribution of x is all zeros.
    """

    radius: float = 0.02  # of the ball, in units of the input
    samples: int = 10  # inputs drawn around each sample, each one more attribution

    higher_is_better: ClassVar[bool] = False
    range: ClassVar[tuple[float, float]] = (0.0, 1.7976931348623157e308)  # no bound
    ideal: ClassVar[float] = 0.0
    needs: ClassVar[tuple[str, ...]] = ("method",)
    cost: ClassVar[str] = "samples more attributions"
    invariant: ClassVar[tuple[str, ...]] = ()
    exact_on_linear: ClassVar[bool] = False
    paper: ClassVar[str] = "On the (In)fidelity and Sensitivity of Explanations (Yeh et al., 2019)"

    def __post_init__(self) -> None:
        if self.samples < 1 or not self.radius > 0:
            raise SpecError(
                f"max_sensitivity: samples={self.samples} must be at least 1, radius={self.radius} positive."
            )

    def __call__(self, trial: Trial) -> Evidence:
        x = trial.scene.samples.x
        drawn = trial.scene.draws("ball").uniform(self.samples, *x.shape[1:]).to(x).transpose(0, 1)  # (K, B, *entries)
        moved = x + self.radius * (2 * drawn - 1)
        plain, others = comparable_maps(trial, trial.again(moved.flatten(0, 1)))
        size = plain.norm(dim=-1)
        largest = (others - plain).norm(dim=-1).amax(dim=0)
        return rows(value=(largest / size.where(size > 0, 1.0)).where(size > 0, 0.0), defined=size > 0)
