"""Soundness (Li et al., 2024)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from assay.core.errors import SpecError
from assay.core.evidence import Evidence, Score
from assay.core.facts import Varies
from assay.core.question import Question
from assay.core.trial import Trial
from assay.kit.feature_orders import among_first, positions
from assay.metrics._removal import Removal, one_canvas
from assay.metrics._rows import rows
from assay.metrics._soco import correct_and_score, readout_of, strengths
from assay.metrics._soco_sets import growing_sets

COARSE = 8  # fine steps that an adaptive expansion first adds at once
Numbers = npt.NDArray[np.float64]
TINY = 1e-9  # accuracies that differ by less are equal: in floats, 0.03 - 0.02 is not 0.01


@dataclass(frozen=True)
class Soundness:
    """Share of the attribution that goes to features which raise the set's accuracy when they are added.

    Algorithm 3: features are added, highest attribution first; the rest is imputed. After each step, accuracy is
    measured over the whole set, against true labels. A step that raises it by less than ``threshold`` is false, and the
    attribution of the features it added is false in every sample. Soundness after a step is the mean over samples of
    (attribution so far - false attribution so far) / attribution so far. Soundness at level v is that of the first step
    with accuracy v or more. The value is the mean over the levels reached, or None if none is reached: compare methods
    at levels that all of them reach, and only for equally many samples: ``threshold`` is one sample up to 1 /
    ``threshold``, and more beyond. Accuracy before the first step is taken to be 0, so with the usual settings this
    step is never false: if it reaches many levels at once (few classes, easy inputs), these levels say nothing about
    the map. Undefined for a sample without attribution, and where the model has no finite answer (ours).

    No step is false until accuracy exceeds ``start``, as in the published code; the paper has no such rule. The code
    also has ``strict=False, lag=True``. With the indicator "sample", each sample's own score decides which steps are
    false for it, compared with its score without any attributed feature, and ``start`` is ignored (ours: the published
    code compares with 0, so that a first step above the threshold is never false, and waits for a mean score above
    ``start``).

    Expansion "mass" adds equal attribution instead of equal area; "felzenszwalb" and "grid" add whole segments;
    "adaptive" adds 8 steps at once and halves those that raise accuracy. Blocks of samples are judged one by one, so
    "adaptive" computes all fine steps and selects from them afterwards.
    """

    canvas: str | float = "impute"  # impute, zero, true, mean, row, colour, uniform, blur, noise or a number
    jitter: float = 0.01  # deviation of the noise on imputed pixels
    transform: Literal["abs", "clamp", "positive"] = "abs"  # sizes stretched to 0..1 (code), values cut to 0..1 or at 0
    expansion: Literal["area", "mass", "adaptive", "felzenszwalb", "grid"] = "area"  # what a step adds
    first: float = 0.98  # share of features that the first step leaves out
    last: float = 0.03  # share that the last step leaves out
    steps: int = 96  # from the first to the last
    rest: Literal["removed", "kept"] = "removed"  # features without attribution: out until their step, or always in
    ties: Literal["random", "stable"] = "random"  # equal attributions: shuffled per sample, or in reading order
    indicator: Literal["accuracy", "probability", "sample"] = "accuracy"  # of the set, or each sample's own score
    readout: Literal["logit", "probability", "margin", "value"] = "probability"  # of "sample": which score
    threshold: float = 0.01  # a step that raises accuracy by less is false
    strict: bool = True  # a rise equal to the threshold counts (the paper); False: such a step is false (the code)
    start: float = 0.04  # no step is false up to this accuracy; -1: any step may be (the paper's algorithm)
    lag: bool = False  # false attribution counts from the next step on (the code)
    levels: tuple[float, ...] = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)  # of accuracy, averaged over

    higher_is_better: ClassVar[bool] = True
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    ideal: ClassVar[float] = 1.0
    invariant: ClassVar[tuple[str, ...]] = ("scale",)
    varies: ClassVar[Varies] = (("transform", "clamp", "scale"),)
    depends_on_count: ClassVar[bool] = True  # a step of 0.01 is one sample of 100, two of 200
    compared_at_levels: ClassVar[bool] = True  # ``levels``: maps may reach different ones
    after_evidence: ClassVar[tuple[str, ...]] = ("threshold", "strict", "start", "lag", "levels")  # read by ``reduce``
    exact_on_linear: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ("model", "label")
    cost: ClassVar[str] = "steps model rows a sample, each imputed"
    axes: ClassVar[tuple[str, str]] = ("accuracy (or mean probability)", "soundness")
    paper: ClassVar[str] = "A Dual-Perspective Approach (Li et al., 2024), algorithms 1 and 3"

    def __post_init__(self) -> None:
        if not 0 <= self.last <= self.first < 1 or self.steps < 1 or not self.levels:
            raise SpecError(
                f"soundness: first={self.first}, last={self.last}, steps={self.steps}, levels={self.levels} make no "
                "curve. Choose 0 <= last <= first < 1, a step or more, and a level or more."
            )

    def __call__(self, trial: Trial) -> Evidence:
        question = Question(readout_of(self.indicator, self.readout))
        removal = Removal.of(
            trial.scene, one_canvas(self.canvas), question, self.jitter, classes="soundness is about accuracy"
        )
        strength, left_out = strengths(trial, self.transform), np.linspace(self.first, self.last, self.steps)
        order, counts = growing_sets(trial, strength, self.expansion, left_out.tolist(), self.ties)
        correct, score = self._read(trial, removal, strength, order, counts)
        defined = correct.isfinite().all(dim=1) & (strength > 0).any(dim=1)
        tensors = {"correct": correct[:, 1:], "kept": _included_attribution(strength, order, counts)}
        if self.indicator != "accuracy":
            tensors |= {"before": score[:, :1], "score": score[:, 1:]}
        tensors = {name: tensor.where(defined[:, None], 0.0) for name, tensor in tensors.items()}
        return rows(1 - torch.from_numpy(left_out), defined=defined, **tensors)

    def _read(
        self, trial: Trial, removal: Removal, strength: Tensor, order: Tensor, counts: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Whether the true class is chosen, and the score: (B, 1 + K), before any step and after each."""
        steps = torch.cat([torch.zeros_like(counts[:, :1]), counts], dim=1).T
        if self.indicator != "sample":
            steps[0] = steps[1]  # not used: only 'sample' compares with the state before any step
        distinct, column = steps.unique_consecutive(dim=0, return_inverse=True)
        shape = trial.scene.setting.features.shape
        position, attributed = positions(order).view(-1, *shape), (strength > 0).view(-1, *shape)

        def removed(part: slice) -> Tensor:
            out = ~among_first(position, distinct[part])
            return out & attributed if self.rest == "kept" else out

        read = correct_and_score(removal.query, trial.scene.samples.label)
        correct, score = removal.each(len(distinct), removed, read)[column].unbind(dim=-1)
        return correct.T, score.T

    def reduce(self, evidence: Evidence) -> Score:
        """Algorithm 3 over the set of defined samples."""
        defined = evidence.defined
        if not defined.any():
            return Score(None, len(evidence), 0)
        arrays = {name: array[defined].astype(np.float64) for name, array in evidence.rows.items()}
        level = arrays["score" if self.indicator == "probability" else "correct"].mean(axis=0)
        rule = Rule(self.threshold, self.strict, self.start, self.lag)
        steps = rule.halved(level, COARSE) if self.expansion == "adaptive" else np.arange(len(level))
        scores = None
        if self.indicator == "sample":
            scores = np.concatenate([arrays["before"], arrays["score"][:, steps]], axis=1)
        share = rule.soundness(level[steps], arrays["kept"][:, steps], scores).mean(axis=0)
        curve, curve_defined = np.zeros(len(level)), np.zeros(len(level), dtype=bool)
        curve[steps], curve_defined[steps] = share, True
        reached = first_reaching(level[steps], self.levels)
        if not reached:
            return Score(None, len(evidence), int(defined.sum()), curve, curve_defined, level)
        return Score(float(share[reached].mean()), len(evidence), int(defined.sum()), curve, curve_defined, level)


def _included_attribution(strength: Tensor, order: Tensor, counts: Tensor) -> Tensor:
    """Attribution (B, K) of the first ``counts`` (B, K) features."""
    return strength.double().gather(1, order).cumsum(dim=1).gather(1, counts - 1)


@dataclass(frozen=True)
class Rule:
    """When a step is false."""

    threshold: float  # a step that raises the performance by less is false
    strict: bool  # True: a rise equal to the threshold counts; False: that step is false, too
    start: float  # no step is false up to this performance of the set
    lag: bool  # a step's false attribution counts from the next step on

    def soundness(self, level: Numbers, included: Numbers, scores: Numbers | None = None) -> Numbers:
        """The share (N, K) of attribution that is not false, after each step.

        ``level`` (K,): the performance of the set, which is 0 before the first step. ``included`` (N, K): the
        attribution of the features added so far. ``scores`` (N, 1 + K): each sample's score before any step and after
        each; if given, the rise of a sample's own score decides for that sample, otherwise the rise of the level
        decides for all.
        """
        if scores is not None:
            false = self._too_small(np.diff(scores, axis=1))
        else:
            false = self._too_small(np.diff(level, prepend=0.0)) & (level > self.start + TINY)
        false_sum = np.cumsum(np.diff(included, axis=1, prepend=0.0) * false, axis=1)
        if self.lag:
            false_sum = np.concatenate([np.zeros_like(false_sum[:, :1]), false_sum[:, :-1]], axis=1)
        return np.clip(1 - false_sum / included, 0.0, 1.0)

    def halved(self, level: Numbers, size: int) -> npt.NDArray[np.int64]:
        """The last column of each step, where steps begin with ``size`` columns.

        A step that raises the level is redone in two halves, and so on; all other steps stay whole.
        """
        pending = [(start, min(start + size, len(level))) for start in reversed(range(0, len(level), size))]
        ends = []
        while pending:
            start, stop = pending.pop()
            rise = level[stop - 1] - (level[start - 1] if start else 0.0)
            if stop - start == 1 or self._too_small(rise):
                ends.append(stop - 1)
                continue
            half = 1 << (stop - start - 1).bit_length() - 1  # the largest power of two below the length
            pending += [(start + half, stop), (start, start + half)]
        return np.array(ends)

    def _too_small(self, rise: Numbers | float) -> npt.NDArray[np.bool_]:
        too_small = rise < self.threshold - TINY if self.strict else rise <= self.threshold + TINY
        return np.asarray(too_small)


def first_reaching(level: Numbers, levels: Sequence[float]) -> list[int]:
    """The first step that reaches each level, leaving out levels that no step reaches."""
    reached = [np.flatnonzero(level >= wanted - TINY) for wanted in levels]
    return [int(steps[0]) for steps in reached if len(steps)]
