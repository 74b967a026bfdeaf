"""Soundness (Li et al., 2024)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from assay.core.errors import SpecError
from assay.core.evidence import Evidence, Score
from assay.core.promises import Varies
from assay.core.question import Question
from assay.core.trial import Trial
from assay.kit.masks import among_first
from assay.kit.ranks import places
from assay.metrics._removal import Removal
from assay.metrics._rows import rows
from assay.metrics._soco import heights, indications, readout_of
from assay.metrics._soco_rule import Rule, first_reaching
from assay.metrics._soco_sets import grown

COARSE = 8  # steps that an adaptive expansion tries at once


@dataclass(frozen=True)
class Soundness:
    """Share of the attribution that goes to features which raise the set's accuracy as they are added.

    Algorithm 3: features appear, highest attribution first, the rest imputed. After each step accuracy is taken over
    the whole set, against true labels. A step that raises it by less than ``threshold`` is false, and so is the
    attribution of what it added, in every sample. Soundness after a step is the mean over samples of (attribution so
    far - false attribution so far) / attribution so far; at level v, that of the first step whose accuracy is v or
    more. The value is the mean over the levels reached: None where none is. Compare methods at levels that all of them
    reach. Accuracy before the first step is taken to be 0, so that with the usual settings this step is never false:
    where it reaches many levels at once (few classes, easy inputs), these say nothing about the map. Undefined for a
    sample without attribution, or whose model has no finite answer (ours).

    Steps are false only once accuracy is above ``start``, as in the published code: the paper has no such rule. The
    code differs further by ``strict=False, lag=True``. By "sample", each sample's own score decides what is false for
    it, from what it is without any attributed feature on, and whatever ``start`` says (ours: the published code starts
    from 0, so that a first step above the threshold is never false, and waits for a mean score above ``start``).
    Expansion "mass" adds equal attribution instead of equal area; "felzenszwalb" and "grid" add whole segments;
    "adaptive" adds 8 steps at once and halves what raises accuracy. Blocks of samples are judged one by one, so all of
    its fine steps are computed, and chosen from afterwards.
    """

    canvas: str | float = "impute"  # in place of a feature: impute, zero, true, mean, uniform, blur, noise or a number
    jitter: float = 0.01  # deviation of the noise on imputed pixels
    transform: Literal["abs", "clamp", "positive"] = "abs"  # sizes stretched to 0..1 (code), values cut to 0..1 or at 0
    expansion: Literal["area", "mass", "adaptive", "felzenszwalb", "grid"] = "area"  # what a step adds
    first: float = 0.98  # share of features that the first step leaves out
    last: float = 0.03  # share that the last step leaves out
    steps: int = 96  # from the first to the last
    rest: Literal["removed", "kept"] = "removed"  # features without attribution: out until their turn, or always in
    ties: Literal["random", "stable"] = "random"  # equal attributions: shuffled per sample, or in reading order
    indicator: Literal["accuracy", "probability", "sample"] = "accuracy"  # of the set, or each sample's own score
    readout: Literal["logit", "probability", "margin", "value"] = "probability"  # of "sample": which score
    threshold: float = 0.01  # a smaller rise is none
    strict: bool = True  # a rise equal to the threshold counts (the paper); False: it is none (the code)
    start: float = 0.04  # up to this accuracy no step is false; -1: always (the paper's algorithm as written)
    lag: bool = False  # false attribution counts from the next step on (the code)
    levels: tuple[float, ...] = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)  # of accuracy, averaged over

    higher_is_better: ClassVar[bool] = True
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    ideal: ClassVar[float] = 1.0
    invariant: ClassVar[tuple[str, ...]] = ("scale",)
    varies: ClassVar[Varies] = (("transform", "clamp", "scale"),)
    exact_on_linear: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ("model", "label")
    cost: ClassVar[str] = "steps model rows a sample, each imputed"
    axes: ClassVar[tuple[str, str]] = ("accuracy (or mean probability)", "soundness")
    controls: ClassVar[str] = (
        "not told apart from the best method: random_map and edge_map (linear and CIFAR-10), edge_map (colour count)"
    )
    paper: ClassVar[str] = "A Dual-Perspective Approach (Li et al., 2024), algorithms 1 and 3"

    def __post_init__(self) -> None:
        if not 0 <= self.last <= self.first < 1 or self.steps < 1 or not self.levels:
            raise SpecError(
                f"soundness: first={self.first}, last={self.last}, steps={self.steps}, levels={self.levels} make no "
                "curve. Choose 0 <= last <= first < 1, a step or more, and a level or more."
            )

    def __call__(self, trial: Trial) -> Evidence:
        question = Question(readout_of(self.indicator, self.readout))
        removal = Removal.of(trial.scene, self.canvas, question, self.jitter, classes="soundness is about accuracy")
        height, left_out = heights(trial, self.transform), np.linspace(self.first, self.last, self.steps)
        order, counts = grown(trial, height, self.expansion, left_out.tolist(), self.ties)
        correct, score = self._read(trial, removal, height, order, counts)
        defined = correct.isfinite().all(dim=1) & (height > 0).any(dim=1)
        found = {"correct": correct[:, 1:], "kept": _gathered(height, order, counts)}
        if self.indicator != "accuracy":
            found |= {"before": score[:, :1], "score": score[:, 1:]}
        found = {name: tensor.where(defined[:, None], 0.0) for name, tensor in found.items()}
        return rows(1 - torch.from_numpy(left_out), defined=defined, **found)

    def _read(
        self, trial: Trial, removal: Removal, height: Tensor, order: Tensor, counts: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Is the true class chosen, and the score: (B, 1 + K), before any step and after each."""
        steps = torch.cat([torch.zeros_like(counts[:, :1]), counts], dim=1).T
        if self.indicator != "sample":
            steps[0] = steps[1]  # nobody asks about it
        distinct, column = steps.unique_consecutive(dim=0, return_inverse=True)
        shape = trial.scene.setting.features.shape
        place, named = places(order).view(-1, *shape), (height > 0).view(-1, *shape)

        def removed(part: slice) -> Tensor:
            out = ~among_first(place, distinct[part])
            return out & named if self.rest == "kept" else out

        read = indications(removal.query, trial.scene.samples.label)
        correct, score = removal.each(len(distinct), removed, read)[column].unbind(dim=-1)
        return correct.T, score.T

    def reduce(self, evidence: Evidence) -> Score:
        """Algorithm 3 over the set of defined samples."""
        defined = evidence.defined
        if not defined.any():
            return Score(None, len(evidence), 0)
        found = {name: array[defined].astype(np.float64) for name, array in evidence.rows.items()}
        level = found["score" if self.indicator == "probability" else "correct"].mean(axis=0)
        rule = Rule(self.threshold, self.strict, self.start, self.lag)
        steps = rule.halved(level, COARSE) if self.expansion == "adaptive" else np.arange(len(level))
        own = None
        if self.indicator == "sample":
            own = np.concatenate([found["before"], found["score"][:, steps]], axis=1)
        share = rule.soundness(level[steps], found["kept"][:, steps], own).mean(axis=0)
        curve, known = np.zeros(len(level)), np.zeros(len(level), dtype=bool)
        curve[steps], known[steps] = share, True
        reached = first_reaching(level[steps], self.levels)
        if not reached:
            return Score(None, len(evidence), int(defined.sum()), curve, known, level)
        return Score(float(share[reached].mean()), len(evidence), int(defined.sum()), curve, known, level)


def _gathered(height: Tensor, order: Tensor, counts: Tensor) -> Tensor:
    """Attribution (B, K) of the first ``counts`` (B, K) features."""
    return height.double().gather(1, order).cumsum(dim=1).gather(1, counts - 1)
