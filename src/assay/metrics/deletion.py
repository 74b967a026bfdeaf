"""Deletion and insertion (Petsiuk et al., 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from assay.core.evidence import Evidence
from assay.core.facts import Varies
from assay.core.question import Question
from assay.core.trial import Trial
from assay.kit.curves import even_counts
from assay.metrics._order import area_rows, feature_order, read_without_first, removal_and_read


@dataclass(frozen=True)
class Deletion:
    """Area under the model's answer while features are replaced, or inserted, highest attribution first.

    Deletion is drawn over the share of features replaced, from the whole input to the bare canvas; lower is better.
    ``direction='insert'`` (``insertion``) is drawn over the share of features inserted into the canvas, up to the whole
    input; higher is better. AttributionLab's text inserts in ascending order yet calls higher better; this is
    descending, as Petsiuk et al. define it. The curve shows the number the environment asks about, which is what
    methods explain unless a study asks otherwise (ours). Both papers use probabilities: readout='probability', in [0,
    1]; other readouts have the model's own range. By accuracy, a point is 1 where the model chooses the true class and
    0 elsewhere, so that the mean over samples is the accuracy of the set. A constant map is ranked by its ties alone.
    With canvas 'impute' (images and deletion only), the last step, where no pixel is left, is the zero canvas with
    noise. With canvas 'rows', a point is the mean over 16 reference rows. Undefined where the model has no finite
    answer.
    """

    direction: Literal["delete", "insert"] = "delete"  # remove features, or insert them into the canvas
    steps: int = 32  # steps of the curve, each one model pass; at most one per feature
    absolute: bool = False  # rank by absolute attribution
    ties: Literal["stable", "random"] = "stable"  # equal attributions: in reading order, or shuffled per sample
    canvas: str | float = "zero"  # for features: zero, true, mean, colour, uniform, blur, noise, impute, rows, a number
    readout: Literal["logit", "probability", "margin", "value"] | None = None  # None: as the environment asks
    temperature: float | None = None  # None: as the environment asks
    by: Literal["score", "accuracy"] = "score"  # the curve: the explained number, or 1 where the true class wins
    jitter: float = 0.01  # deviation of the noise on imputed pixels

    higher_is_better: ClassVar[bool] = False
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)  # for probabilities and accuracy
    ideal: ClassVar[float] = 0.0
    needs: ClassVar[tuple[str, ...]] = ("model",)
    cost: ClassVar[str] = "steps + 1 model rows a sample"
    invariant: ClassVar[tuple[str, ...]] = ("scale", "monotone")
    exact_on_linear: ClassVar[bool] = False
    best_on_linear: ClassVar[bool] = True
    axes: ClassVar[tuple[str, str]] = ("share of features deleted", "{read}")
    varies: ClassVar[Varies] = (
        (
            "direction",
            "insert",
            {
                "higher_is_better": True,
                "ideal": 1.0,
                "axes": ("share of features inserted", "{read}"),
            },
        ),
        # By absolute attribution, features with a negative effect are removed as early as those with a positive one.
        ("absolute", True, {"best_on_linear": False}),
        ("readout", "logit", "range"),
        ("readout", "margin", "range"),
        ("readout", "value", "range"),
        ("readout", None, "range"),
    )
    aliases: ClassVar[tuple[tuple[str, str, object], ...]] = (("insertion", "direction", "insert"),)
    paper: ClassVar[str] = "RISE (Petsiuk et al., 2018), section 4.2; AttributionLab (Zhang et al., 2024), appendix G.4"

    def __call__(self, trial: Trial) -> Evidence:
        inserts = self.direction == "insert"
        question = Question(self.readout, self.temperature)
        removal, read = removal_and_read(trial.scene, self.by, self.canvas, question, None if inserts else self.jitter)
        order = feature_order(trial, self.absolute, self.ties)
        counts = even_counts(order.shape[1], self.steps)
        if inserts:  # inserting the highest first is removing from the lowest on, with fewer removed at each step
            return area_rows(read_without_first(removal, order.flip(1), counts[-1] - counts, read), counts)
        return area_rows(read_without_first(removal, order, counts, read), counts)
