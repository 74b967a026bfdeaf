"""F-Fidelity (Zheng et al., 2025)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from assay.core.errors import NotApplicable, SpecError
from assay.core.evidence import Evidence
from assay.core.facts import Varies
from assay.core.question import Question
from assay.core.rng import Draws
from assay.core.trial import Trial
from assay.kit.curves import symmetric_counts
from assay.kit.feature_orders import among_first, positions
from assay.metrics._order import feature_order, mean_rows, removal_and_read
from assay.metrics._removal import Read, Removal


@dataclass(frozen=True)
class FFidelity:
    """What the model loses without a random part of the explanation, minus what it loses without a part of the rest.

    The explanation is the n features of highest attribution, for each of ``sizes`` numbers n. Fid+ is the answer for
    the input minus the mean answer for ``draws`` copies, from which each feature of the explanation is removed with
    probability min(alpha, beta P / n), where P features are in the input: no more than a share ``beta`` of them is
    missing on average. Fid- is the same for the other P - n features. The value is the mean of Fid+ - Fid- over sizes,
    as the paper averages both; ``f_fidelity_plus`` and ``f_fidelity_minus`` are the parts. A random order has the
    expectation 0: sizes are symmetric, so that both parts remove random features from random sets of the same sizes.

    F-Fidelity is this metric on ``in_domain(of=E, masks='features')``, whose model was fine-tuned without a share of
    ``beta`` of the features, with the same canvas. On E itself, ``beta=1`` makes it R-Fidelity, and alpha=1, beta=1
    with one draw removes all of the explanation. A model that fine-tuning made worse on whole inputs gains where
    features are removed: both parts are lower then, and Fid- may prefer worse maps.

    alpha, beta, draws, canvas and whole pixels are those of the authors' code. Its sizes are 6, 11, ..., 96 and 100 %,
    one more than in its list; here they are 5, 10, ..., 95 %, because all maps get one value at 100 %. Draws that all
    methods share are ours, and so are shuffled ties. That code counts right answers: ``by='accuracy'``, where the model
    chooses the true class. The default is the number the environment asks about (ours): a model that copes with missing
    features gives right answers whatever is removed, and Fid- is then next to 0 for all maps.

    Like that code, the metric orders sums with their sign: the lowest features of a signed map are not unimportant but
    speak against the class, so that Fid- may lie below 0. ``absolute``, or a method's absolute map, orders by size.
    Undefined where the model has no finite answer.
    """

    part: Literal["delta", "plus", "minus"] = "delta"  # Fid+ - Fid-, Fid+ or Fid-
    alpha: float = 0.5  # the most likely that a feature is removed
    beta: float = 0.1  # share of all features that is removed on average, or less; as in fine-tuning
    draws: int = 50  # inputs for each size and part
    sizes: int = 19  # of the explanation, evenly spaced between no and all features
    absolute: bool = False  # rank by absolute attribution
    canvas: str | float = "zero"  # for features: zero, true, mean, colour, uniform, blur, noise, rows or a number
    readout: Literal["logit", "probability", "margin", "value"] | None = None  # None: as the environment asks
    temperature: float | None = None  # None: as the environment asks
    by: Literal["score", "accuracy"] = "score"  # the answer: the explained number, or 1 where the true class wins

    higher_is_better: ClassVar[bool] = True
    range: ClassVar[tuple[float, float]] = (-1.0, 1.0)  # for probabilities and accuracy
    ideal: ClassVar[float] = 1.0  # for probabilities and accuracy: a bound
    needs: ClassVar[tuple[str, ...]] = ("model",)
    cost: ClassVar[str] = "2 sizes x draws model rows a sample, half of them for one part"
    invariant: ClassVar[tuple[str, ...]] = ("scale", "shift", "monotone")
    exact_on_linear: ClassVar[bool] = False
    axes: ClassVar[tuple[str, str]] = ("share of features in the explanation", "{read}, Fid+ minus Fid-")
    varies: ClassVar[Varies] = (
        ("part", "plus", {"axes": ("share of features in the explanation", "{read} lost without some of them")}),
        (
            "part",
            "minus",
            {
                "higher_is_better": False,
                "ideal": -1.0,
                "axes": ("share of features in the explanation", "{read} lost without some others"),
            },
        ),
        ("absolute", True, "shift"),
        ("readout", "logit", "range"),
        ("readout", "margin", "range"),
        ("readout", "value", "range"),
        ("readout", None, "range"),
    )
    aliases: ClassVar[tuple[tuple[str, str, object], ...]] = (
        ("f_fidelity_plus", "part", "plus"),
        ("f_fidelity_minus", "part", "minus"),
    )
    paper: ClassVar[str] = "F-Fidelity (Zheng et al., 2025); arXiv:2410.02970"

    def __post_init__(self) -> None:
        if not (0 < self.alpha <= 1 and 0 < self.beta <= 1):
            raise SpecError(f"f_fidelity: alpha={self.alpha} and beta={self.beta} are shares: above 0, up to 1.")
        if min(self.draws, self.sizes) < 1:
            raise SpecError(f"f_fidelity: draws={self.draws} and sizes={self.sizes} must be 1 or more.")

    def __call__(self, trial: Trial) -> Evidence:
        question = Question(self.readout, self.temperature)
        removal, read = removal_and_read(trial.scene, self.by, self.canvas, question, jitter=None)
        order = feature_order(trial, self.absolute, ties="random")
        total = order.shape[1]
        if total < 2:
            raise NotApplicable("needs at least two features: one has no order")
        counts = symmetric_counts(total, self.sizes + 1)[1:-1]

        def answers(order: Tensor, counts: Tensor) -> Tensor:
            return self._without_some(removal, trial.scene.draws("removed"), order, counts, read)

        explained, rest = (order, counts), (order.flip(1), total - counts)
        if self.part == "delta":
            higher, lower = answers(*rest), answers(*explained)
        else:
            higher = read(removal.query.x[None])[0].double()[:, None]
            lower = answers(*(explained if self.part == "plus" else rest))
        return mean_rows(higher - lower, counts.double() / total)

    def _without_some(self, removal: Removal, draws: Draws, order: Tensor, counts: Tensor, read: Read) -> Tensor:
        """The mean answer (B, K) without random ones of the first ``counts`` (K,) features of an order (B, P)."""
        shape = removal.query.setting.features.shape
        position, counts = positions(order).view(-1, *shape), counts.to(order.device)
        chance = (self.beta * order.shape[1] / counts).clamp(max=self.alpha).view(-1, *[1] * position.dim())

        def removed(part: slice) -> Tensor:
            size = torch.arange(part.start, part.stop, device=order.device) // self.draws
            number = draws.uniform(len(size), *shape).to(order.device).transpose(0, 1)  # (k, B, *features)
            return among_first(position, counts[size]) & (number < chance[size])

        answers = removal.each(len(counts) * self.draws, removed, read).double()
        mean: Tensor = answers.unflatten(0, (len(counts), self.draws)).mean(dim=1)
        return mean.T
