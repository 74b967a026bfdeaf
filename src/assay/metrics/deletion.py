"""Deletion and insertion (Petsiuk et al., 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from assay.core.evidence import Evidence
from assay.core.promises import Varies
from assay.core.question import Question
from assay.core.trial import Trial
from assay.kit.curves import even_counts
from assay.metrics._order import area_rows, ordered, read_by, without_first


@dataclass(frozen=True)
class Deletion:
    """Area under the model's answer while features are replaced, or inserted, highest attribution first.

    Deletion is drawn over the share of features replaced, from the whole input to the bare canvas, and lower is better;
    ``direction='insert'`` (``insertion``) over the share of features that appear on the canvas, up to the whole input,
    and higher is better. AttributionLab's text inserts in ascending order yet calls higher better; this is descending,
    as Petsiuk et al. define it. What is read is what the environment asks about, which is what methods explain unless a
    study asks otherwise (ours); both papers read probabilities: readout='probability', in [0, 1]; other readouts have
    the model's own range. By accuracy, 1 while the model chooses the true class and 0 otherwise: the mean over samples
    is the accuracy of the set. A constant map is ranked by its ties alone. Imputed (images and deletion only), the last
    step, where no pixel is left, is the zero canvas with noise. Undefined where the model has no finite answer.
    """

    direction: Literal["delete", "insert"] = "delete"  # features go, or appear on the canvas
    steps: int = 32  # steps of the curve, each one pass through the model; at most one a feature
    absolute: bool = False  # rank by the size of the attribution, whatever its sign
    ties: Literal["stable", "random"] = "stable"  # equal attributions: in reading order, or shuffled per sample
    canvas: str | float = "zero"  # in place of a feature: zero, true, mean, uniform, blur, noise, impute or a number
    readout: Literal["logit", "probability", "margin", "value"] | None = None  # None: as the environment asks
    temperature: float | None = None  # None: as the environment asks
    by: Literal["score", "accuracy"] = "score"  # what is drawn: the explained number, or 1 where the true class wins
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
    controls: ClassVar[str] = "not told apart from the best method: random_map (CIFAR-10)"
    varies: ClassVar[Varies] = (
        (
            "direction",
            "insert",
            {
                "higher_is_better": True,
                "ideal": 1.0,
                "axes": ("share of features inserted", "{read}"),
                "controls": None,
            },
        ),
        # By size, features that speak against come as early as those that speak for.
        ("absolute", True, {"best_on_linear": False}),
        ("readout", "logit", "range"),
        ("readout", "margin", "range"),
        ("readout", "value", "range"),
        ("readout", None, "range"),
    )
    aliases: ClassVar[tuple[tuple[str, str, object], ...]] = (("insertion", "direction", "insert"),)
    paper: ClassVar[str] = "RISE (Petsiuk et al., 2018), section 4.2; AttributionLab (Zhang et al., 2023), appendix G.4"

    def __call__(self, trial: Trial) -> Evidence:
        inserts = self.direction == "insert"
        question = Question(self.readout, self.temperature)
        removal, read = read_by(trial.scene, self.by, self.canvas, question, None if inserts else self.jitter)
        order = ordered(trial, self.absolute, self.ties)
        counts = even_counts(order.shape[1], self.steps)
        if inserts:  # to have inserted the highest is to have left out the others, from the lowest on
            return area_rows(without_first(removal, order.flip(1), counts[-1] - counts, read), counts)
        return area_rows(without_first(removal, order, counts, read), counts)
