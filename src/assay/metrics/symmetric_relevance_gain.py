"""Symmetric relevance gain (Blücher et al., 2024)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from torch.nn.functional import pad

from assay.core.errors import NotApplicable, SpecError
from assay.core.evidence import Evidence
from assay.core.facts import Varies
from assay.core.question import Question
from assay.core.trial import Trial
from assay.kit.curves import symmetric_counts
from assay.metrics._order import area_rows, feature_order, read_without_first, removal_and_read


@dataclass(frozen=True)
class SymmetricRelevanceGain:
    """Area under the model's answer while the lowest attribution is removed first, minus that with the highest first.

    Higher is better. What a canvas does to the answer, whatever is removed, lowers both curves and cancels. A random
    order has the expectation 0 in every sample, for every model and canvas: with k features removed, these are a
    uniformly random set of k features in both directions, so both curves have the same expectation at every k. The
    counts k are symmetric, with every k also P - k of P features, so that the gain is also insertion minus deletion: an
    insertion of P - k features removes k.

    Both curves begin with the whole input and end on the bare canvas, which are therefore not asked about. The curve is
    the difference. With readout='probability' or by accuracy it lies in [-1, 1]. Even the best map stays below 1 there
    by what the model allows; other readouts have the model's own range and no ideal value. Compare maps of the same
    samples with the same canvas only. Ties are shuffled for each sample, in the same way for all methods. A constant
    map is ranked by its ties alone. Undefined where the model has no finite answer to a part of the input.
    """

    steps: int = 32  # steps of both curves; at most one per feature
    absolute: bool = False  # rank by absolute attribution
    canvas: str | float = "zero"  # for features: zero, true, mean, colour, uniform, blur, noise, impute, rows, a number
    readout: Literal["logit", "probability", "margin", "value"] | None = None  # None: as the environment asks
    temperature: float | None = None  # None: as the environment asks
    by: Literal["score", "accuracy"] = "score"  # the curves: the explained number, or 1 where the true class wins
    jitter: float = 0.01  # deviation of the noise on imputed pixels

    higher_is_better: ClassVar[bool] = True
    range: ClassVar[tuple[float, float]] = (-1.0, 1.0)  # for probabilities and accuracy
    ideal: ClassVar[float] = 1.0  # for probabilities and accuracy: a bound
    needs: ClassVar[tuple[str, ...]] = ("model",)
    cost: ClassVar[str] = "2 (steps - 1) model rows a sample, 16 times as many with canvas='rows'"
    invariant: ClassVar[tuple[str, ...]] = ("scale", "shift", "monotone")
    exact_on_linear: ClassVar[bool] = False
    best_on_linear: ClassVar[bool] = True
    axes: ClassVar[tuple[str, str]] = ("share of features removed", "{read}, lowest first minus highest first")
    varies: ClassVar[Varies] = (
        # By absolute attribution, features with a negative effect are removed as early as those with a positive one.
        ("absolute", True, {"best_on_linear": False}),
        ("absolute", True, "shift"),
        ("readout", "logit", {"range": None, "ideal": None}),
        ("readout", "margin", {"range": None, "ideal": None}),
        ("readout", "value", {"range": None, "ideal": None}),
        ("readout", None, {"range": None, "ideal": None}),
    )
    paper: ClassVar[str] = "Decoupling Pixel Flipping and Occlusion Strategy (Blücher et al., 2024); arXiv:2401.06654"

    def __post_init__(self) -> None:
        if self.steps < 2:
            raise SpecError(f"symmetric_relevance_gain: steps={self.steps} has no step between all and none: write 2.")

    def __call__(self, trial: Trial) -> Evidence:
        question = Question(self.readout, self.temperature)
        removal, read = removal_and_read(trial.scene, self.by, self.canvas, question, self.jitter)
        order = feature_order(trial, self.absolute, ties="random")
        if order.shape[1] < 2:
            raise NotApplicable("needs at least two features: one has no order")
        counts = symmetric_counts(order.shape[1], self.steps)
        lowest_first = read_without_first(removal, order.flip(1), counts[1:-1], read).double()
        highest_first = read_without_first(removal, order, counts[1:-1], read).double()
        return area_rows(pad(lowest_first - highest_first, (1, 1)), counts)  # both curves have the same ends
