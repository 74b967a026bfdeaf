"""Choice sensitivity: how much the map depends on a baseline, a segmenter or another choice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from assay.core.errors import SpecError
from assay.core.evidence import Evidence
from assay.core.trial import Trial, per_feature
from assay.metrics._rows import rows
from assay.metrics._similar import similarity


@dataclass(frozen=True)
class ChoiceSensitivity:
    """Similarity between the attribution and the same method's attribution with one choice made otherwise.

    1 where the choice does not matter, 0 where the second map says nothing about the first. The choice is a field of
    the question (``question.baseline``), a parameter of the method (``segments``) or of one inside it (``of.steps``),
    as in a study's sweep. A random method draws the same numbers, a method with a fit is fitted again. Maps are
    compared feature by feature. If only absolute values are similar, it is signs that change.

    Undefined where one of the two maps is constant (zero, for the cosine). Not applicable to methods without the
    parameter, and to maps that were made with this value. This says nothing about truth: a map that ignores the model
    scores 1, and so does one that reads no baseline. Definition ours.
    """

    parameter: str = "question.baseline"  # what is chosen otherwise
    value: bool | int | float | str = "uniform"  # its other value
    by: Literal["spearman", "cosine"] = "spearman"  # similarity of two maps: rank correlation, or cosine
    absolute: bool = False  # compare absolute values; otherwise signed ones, where a negated map is the least similar

    higher_is_better: ClassVar[bool] = True
    about: ClassVar[str] = "models"  # a method is not better for it
    range: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    ideal: ClassVar[float] = 1.0
    needs: ClassVar[tuple[str, ...]] = ("method",)
    cost: ClassVar[str] = "one more attribution, and a fit"
    invariant: ClassVar[tuple[str, ...]] = ("scale",)  # not monotone: a power changes which values tie by rounding
    exact_on_linear: ClassVar[bool] = False
    paper: ClassVar[str] = "ours, for figures 6b, 7d, 25 and 26 of AttributionLab (Zhang et al., 2023)"

    def __post_init__(self) -> None:
        if self.parameter == "question.target":
            raise SpecError("choice_sensitivity: both maps are about the same class. Write class_sensitivity.")

    def __call__(self, trial: Trial) -> Evidence:
        other = per_feature(trial.again_with(self.parameter, self.value), trial.scene.setting.features)
        value, defined = similarity(trial.map.flatten(1), other.flatten(1), self.by, self.absolute)
        return rows(value=value, defined=defined)
