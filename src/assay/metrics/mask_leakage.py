"""Whether deletion masks alone tell the class (Rong et al., 2022; Hesse et al., 2024)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
from torch import Tensor

from assay.core.errors import NotApplicable, SpecError
from assay.core.evidence import Evidence, Score
from assay.core.facts import Varies
from assay.core.question import Question
from assay.core.trial import Trial, targets_for
from assay.kit.curves import counts_of_shares
from assay.kit.feature_orders import among_first, positions
from assay.kit.grid_cells import cell_sums, feature_cells
from assay.metrics._order import feature_order
from assay.metrics._removal import classifies
from assay.metrics._rows import rows

ROUNDING = 9  # decimals of squared distances between masks: equal ones tie
Labels = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class MaskLeakage:
    """How much better than chance a classifier guesses the class from what was deleted, without seeing the input.

    0: masks say nothing about the class. Above 0, a model that sees inputs with these features deleted could read the
    class off the holes; so may a score that such a model gives. A map that shows where the object is must leak: this is
    a property of the masks' rule, and no method is better for it.

    Masks: ``ids`` deletes a share of the features, lowest attribution first, ties in reading order; ``road`` highest
    first, ties shuffled. ``idsds`` deletes one cell of a grid, drawn for each sample; the attribution has no part in
    it, and the value is the same for all methods. ``highest_cell`` is our control: one cell, too, that of the highest
    attribution. In tables and texts every feature is a cell.

    The classifier is ours: the nearest class centroid of masks, trained on the other folds; a class's samples are
    dealt to folds in turn, and of equally near classes the first is guessed. The value is its accuracy minus the
    expected accuracy of the same guesses for shuffled labels. Classes with fewer samples than folds are left out;
    undefined if no two are left.
    """

    masks: Literal["ids", "road", "idsds", "highest_cell"] = "road"  # which features are deleted
    share: float = 0.5  # of the features, for ids and road
    grid: tuple[int, int] = (4, 4)  # rows and columns of cells, for idsds and highest_cell
    classes: Literal["label", "predicted"] = "label"  # what is guessed: the true class, or the model's
    folds: int = 5  # of the cross validation

    higher_is_better: ClassVar[bool] = False
    about: ClassVar[str] = "models"  # a method is not better for it
    range: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    ideal: ClassVar[float] = 0.0
    invariant: ClassVar[tuple[str, ...]] = ("scale", "shift", "monotone")
    varies: ClassVar[Varies] = (("masks", "highest_cell", "shift"), ("masks", "highest_cell", "monotone"))
    depends_on_count: ClassVar[bool] = True  # a resample has the same mask in two folds
    after_evidence: ClassVar[tuple[str, ...]] = ("folds",)
    exact_on_linear: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ("model", "label")
    cost: ClassVar[str] = "a model row a sample for classes='predicted'; no other"
    paper: ClassVar[str] = "class information leakage: ROAD (Rong et al., 2022), IDSDS (Hesse et al., 2024)"

    def __post_init__(self) -> None:
        if not 0 < self.share < 1 or self.folds < 2:
            raise SpecError(
                f"mask_leakage: share={self.share} must lie between 0 and 1, and folds={self.folds} be 2 or more."
            )
        if min(self.grid) < 1 or self.grid == (1, 1):
            raise SpecError(f"mask_leakage: grid={self.grid} has no two cells: write rows and columns.")

    def __call__(self, trial: Trial) -> Evidence:
        scene = trial.scene
        if not classifies(scene):
            raise NotApplicable("needs a classifier: masks are asked for the class")
        label = scene.samples.label
        if self.classes == "predicted":
            label = targets_for(scene.setting, Question(target="predicted"), scene.samples, scene.machine)
        return rows(mask=self._deleted(trial), label=label)

    def reduce(self, evidence: Evidence) -> Score:
        """Accuracy over the set, minus what the same guesses reach by chance."""
        known = evidence.take(np.flatnonzero(evidence.defined))
        found, sizes = np.unique(known["label"], return_counts=True)
        kept = np.isin(known["label"], found[sizes >= self.folds])
        classes, label = np.unique(known["label"][kept], return_inverse=True)
        if len(classes) < 2:
            return Score(None, len(evidence), 0)
        guess = _guesses(known["mask"][kept].astype(np.float64), label, self.folds)
        size, right = len(label), (guess == label).sum()
        by_chance = np.dot(*(np.bincount(side, minlength=len(classes)) for side in (guess, label))) / size
        return Score(float(right - by_chance) / size, len(evidence), size)

    def _deleted(self, trial: Trial) -> Tensor:
        """Which features (B, P) are deleted."""
        if self.masks in ("ids", "road"):
            lowest = self.masks == "ids"
            order = feature_order(trial, False, "stable" if lowest else "random", lowest)
            counts = counts_of_shares(order.shape[1], [self.share]).to(order.device)
            return among_first(positions(order), counts)[0]
        scene = trial.scene
        cells = feature_cells(scene.setting.features, self.grid).flatten().to(scene.samples.x.device)
        chosen = cell_sums(trial.map.flatten(1), cells).argmax(dim=1)
        if self.masks == "idsds":
            chosen = (scene.draws("cell").uniform() * (cells.max().cpu() + 1)).long().to(cells.device)
        return cells == chosen[:, None]


def _guesses(masks: Numbers, label: Labels, folds: int) -> Labels:
    """The class (n,) whose mean mask, over the samples of the other folds, is nearest to each mask (n, P)."""
    order = np.argsort(label, kind="stable")
    fold, guess = np.empty_like(label), np.empty_like(label)
    fold[order] = np.concatenate([np.arange(size) % folds for size in np.bincount(label)])
    for number in range(folds):
        out = fold == number
        centroids = np.stack([masks[(label == name) & ~out].mean(axis=0) for name in range(label.max() + 1)])
        nearness = 2 * masks[out] @ centroids.T - (centroids**2).sum(axis=1)
        guess[out] = nearness.round(ROUNDING).argmax(axis=1)
    return guess
