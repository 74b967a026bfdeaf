"""Incremental deletion score, highest attribution first (Hesse et al., 2024)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from assay.core.errors import SpecError
from assay.core.evidence import Evidence
from assay.core.trial import Trial
from assay.metrics._ids import deleted


@dataclass(frozen=True)
class IdsDescending:
    """Mean probability of the target while features are deleted, highest attribution first.

    Read with 0, 1/32, ..., 31/32 of the features deleted: the bare canvas is left out. The mean over these points, not
    an area. ``ids`` goes the other way round. Asked again, the method explains what is left after every
    step, and what is deleted stays deleted. A constant map is ranked by its ties alone. Undefined where the model has
    no finite answer.
    """

    steps: int = 32  # points of the curve, the intact input being the first
    absolute: bool = False  # rank by the size of the attribution, whatever its sign
    ties: Literal["stable", "random"] = "stable"  # equal attributions: in reading order, or shuffled per sample
    canvas: str | float = "zero"  # what replaces a feature: zero, true, mean, uniform, blur, noise, impute, a number
    jitter: float = 0.01  # deviation of the noise on imputed pixels
    again: bool = False  # ask the method again at every step

    higher_is_better: ClassVar[bool] = False
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    ideal: ClassVar[float] = 0.0
    invariant: ClassVar[tuple[str, ...]] = ("scale", "shift", "monotone")
    varies: ClassVar[tuple[tuple[str, object, str], ...]] = (("absolute", True, "shift"),)
    exact_on_linear: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ("model",)
    cost: ClassVar[str] = "steps model rows a sample; with again=True as many attributions"
    axes: ClassVar[tuple[str, str]] = ("share of features deleted, highest first", "probability")
    controls: ClassVar[str] = "not told apart from the best method: random_map (CIFAR-10)"
    paper: ClassVar[str] = "IDSDS (Hesse et al., 2024), incremental deletion"

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise SpecError(f"ids_descending: steps={self.steps} make no curve. Write 1 or more.")

    def __call__(self, trial: Trial) -> Evidence:
        return deleted(trial, False, self.steps, self.absolute, self.ties, self.canvas, self.jitter, self.again)
