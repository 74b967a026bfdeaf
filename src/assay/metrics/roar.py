"""ROAR, remove and retrain (Hooker et al., 2019)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import rankdata
from torch import Tensor

from assay.core.errors import NotApplicable, SpecError
from assay.core.evidence import Evidence, Score, mean_score
from assay.core.facts import Varies
from assay.core.question import Question
from assay.core.setting import Recipe, Setting
from assay.core.trial import Scene, Trial
from assay.kit.curves import area, counts_of_shares
from assay.kit.feature_orders import among_first, descending_order, positions
from assay.metrics._order import feature_order
from assay.metrics._removal import Removal, one_canvas
from assay.metrics._rows import rows

NUMBERS_HELD = 2**26  # at most this many numbers of training rows are in memory at once


@dataclass(frozen=True)
class Roar:
    """Accuracy of models retrained without the features of highest attribution, averaged over shares removed.

    For every share, the top features of the reference rows are replaced, a new model is trained on these rows, and it
    is evaluated on rows whose top features are replaced in the same way. The value is the area under the curve of
    accuracy over shares, by the trapezoid rule, divided by the width of the curve: it is an accuracy, with the same
    relative differences as the areas. With one share it is the accuracy there. Share 0 is a model retrained on intact
    rows, the same for all methods.

    Ranking by sample is Hooker's; the new model may then tell the class from which features are missing. The global
    ranking is Katakam's: one order for all rows, by the mean over reference rows of attributions divided by the sum of
    their sizes; it judges the maps of the reference rows only. ``order='lerf'`` keeps the top and removes the lowest
    first (KAR); its value is the error, 1 - accuracy, so that lower is better there, too; its curve is the accuracy.

    Compare a value with that of a random order: include ``random_map``. With the global ranking, that is one random
    order for each seed of the study; there ``constant`` is a random order for each of ``repeats`` (ours), as ties are
    shuffled anew for each. The seed of the study also seeds the new models: intervals are over seeds, from three seeds
    on. A share is rounded down to whole features. On images, ``mean`` is the mean image (ours); Hooker takes each
    channel's mean, which is ``colour``. Defined for every sample. New models are trained on the reference rows alone,
    which on images may be fewer than the old model saw.

    ``measure`` replaces the accuracy (ours): ``balanced_accuracy`` is the mean over classes of the accuracy on their
    samples, ``auroc`` the area under the ROC curve of two classes. Both are values of a set of samples, not of one.
    Metrics that differ in it only share their models.
    """

    shares: tuple[float, ...] = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5)  # of features removed; ascending
    ranking: Literal["sample", "global"] = "sample"  # an order for each row, or one for all rows
    order: Literal["morf", "lerf"] = "morf"  # removed first: the highest attribution, or the lowest
    canvas: str | float = "mean"  # for features: mean, zero, true, colour, uniform, blur, noise or a number
    repeats: int = 1  # models trained for every share, each with its own seed
    absolute: bool = True  # rank by absolute attribution
    ties: Literal["random", "stable"] = "random"  # equal attributions: shuffled, or in reading order
    measure: Literal["accuracy", "balanced_accuracy", "auroc"] = "accuracy"  # of the new models

    higher_is_better: ClassVar[bool] = False
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    ideal: ClassVar[float] = 0.0
    invariant: ClassVar[tuple[str, ...]] = ("scale", "monotone")
    varies: ClassVar[Varies] = (
        ("ranking", "global", "monotone"),
        ("measure", "balanced_accuracy", {"axes": ("share of features removed", "balanced accuracy after retraining")}),
        ("measure", "auroc", {"axes": ("share of features removed", "AUROC after retraining")}),
    )
    exact_on_linear: ClassVar[bool] = False
    after_prepare: ClassVar[tuple[str, ...]] = ("measure",)  # the new models do not depend on it
    needs: ClassVar[tuple[str, ...]] = ("model", "label")
    cost: ClassVar[str] = "shares x repeats trainings a method, then as many model rows a sample"
    axes: ClassVar[tuple[str, str]] = ("share of features removed", "accuracy after retraining")
    paper: ClassVar[str] = "ROAR (Hooker et al., 2019); AGOP-IxG (Katakam, 2026), section 5; arXiv:2605.15700"

    def __post_init__(self) -> None:
        if not self.shares or list(self.shares) != sorted({*self.shares}) or self.shares[0] < 0 or self.shares[-1] > 1:
            raise SpecError(f"roar: shares={self.shares} must be one or more numbers from 0 to 1, ascending.")
        if self.repeats < 1:
            raise SpecError(f"roar: repeats={self.repeats} must be at least 1.")

    def prepare(self, trial: Trial) -> dict[str, Tensor]:
        """The new models' weights, named ``share.repeat.name``; with a global ranking, also each repeat's order."""
        scene = trial.scene
        recipe, removal = _recipe(scene.setting), self._removal(scene)
        orders = self._global_orders(trial) if self.ranking == "global" else self._order(trial)[None]
        names = [(share, repeat) for share in range(len(self.shares)) for repeat in range(self.repeats)]
        prepared = {"order": orders[:, 0]} if self.ranking == "global" else {}
        size = max(1, NUMBERS_HELD // scene.samples.x.numel())
        for group in (names[start : start + size] for start in range(0, len(names), size)):
            x = removal(self._removed(scene.setting, orders, group))
            seeds = [scene.stream.seed_for("retraining", repeat) for _, repeat in group]
            for (share, repeat), model in zip(group, recipe.train_many(x, scene.samples.label, seeds), strict=True):
                tensors = recipe.weights(model).items()
                prepared |= {f"{share}.{repeat}.{name}": tensor.detach().clone() for name, tensor in tensors}
        return prepared

    def __call__(self, trial: Trial) -> Evidence:
        label, outputs = trial.scene.samples.label, self._outputs(trial)
        defined = outputs.isfinite().flatten(1).all(dim=1)
        right = (outputs.argmax(dim=3) == label[:, None, None]) & defined[:, None, None]
        share_removed = torch.tensor(self.shares, dtype=torch.float64)
        if self.measure == "auroc":
            if outputs.shape[3] != 2:
                raise NotApplicable(f"measure='auroc' needs two classes, and there are {outputs.shape[3]}")
            margin = (outputs[..., 1] - outputs[..., 0]).where(defined[:, None, None], 0.0)
            return rows(share_removed, defined=defined, margin=margin, right=right, label=label)
        if self.measure == "balanced_accuracy":
            return rows(share_removed, defined=defined, right=right, label=label)
        curve = right.double().mean(dim=2)
        value = self._height(curve).where(defined, 0.0)
        return rows(share_removed, value=value, defined=defined, curve=curve, right=right)

    def reduce(self, evidence: Evidence) -> Score:
        if self.measure == "accuracy":
            return mean_score(evidence)
        known = evidence.take(np.flatnonzero(evidence.defined))
        curve = _auroc(known) if self.measure == "auroc" else _balanced_accuracy(known)
        if curve is None:
            return Score(None, len(evidence), 0)
        return Score(float(self._height(torch.from_numpy(curve)[None])), len(evidence), len(known), curve)

    def _outputs(self, trial: Trial) -> Tensor:
        """The new models' answers (B, shares, repeats, classes)."""
        scene = trial.scene
        recipe, removal = _recipe(scene.setting), self._removal(scene)
        if not trial.prepared:
            raise NotApplicable(
                "needs attributions of the reference rows, to train new models without their top features"
            )
        orders = trial.prepared["order"][:, None] if self.ranking == "global" else self._order(trial)[None]
        answers = []
        for share in range(len(self.shares)):
            for repeat in range(self.repeats):
                points = removal(self._removed(scene.setting, orders, [(share, repeat)]))
                model = recipe.restore(_with_prefix(trial.prepared, f"{share}.{repeat}."))
                setting = replace(scene.setting, model=model.to(scene.samples.x.device), forward=None)
                answers.append(replace(removal.query, setting=setting).outputs(points)[0])
        outputs: Tensor = torch.stack(answers, dim=1).unflatten(1, (len(self.shares), self.repeats))
        return outputs

    def _removal(self, scene: Scene) -> Removal:
        return Removal.of(scene, one_canvas(self.canvas), Question("value"), classes="ROAR is about accuracy")

    def _order(self, trial: Trial) -> Tensor:
        """The features (B, P) in the order in which they are removed."""
        return feature_order(trial, self.absolute, self.ties, self.order == "lerf")

    def _global_orders(self, trial: Trial) -> Tensor:
        """One order of removal for all rows (repeats, 1, P): the same for each repeat, but for ties."""
        maps = trial.map.flatten(1).double()
        size = maps.abs()
        total = size.sum(dim=1, keepdim=True)
        mean = ((size if self.absolute else maps) / torch.where(total > 0, total, 1.0)).mean(dim=0, keepdim=True)
        mean = -mean if self.order == "lerf" else mean
        if self.ties == "stable":
            return descending_order(mean).expand(self.repeats, 1, -1)
        stream = trial.scene.generator("ties")
        shuffles = [torch.randperm(mean.shape[1], generator=stream) for _ in range(self.repeats)]
        return torch.stack([descending_order(mean, shuffle[None].to(mean.device)) for shuffle in shuffles])

    def _removed(self, setting: Setting, orders: Tensor, names: list[tuple[int, int]]) -> Tensor:
        """Which features are removed for each share and repeat: bool (len(names), B or 1, *features)."""
        counts = counts_of_shares(orders.shape[2], self.shares).to(orders.device)
        position = positions(orders).unflatten(2, setting.features.shape)
        each = [among_first(position[repeat % len(orders)], counts[[share]]) for share, repeat in names]
        return torch.cat(each)

    def _height(self, curve: Tensor) -> Tensor:
        """The mean height (B,) of curves (B, shares); what is missing to 1 where the lowest are removed first."""
        at = torch.tensor(self.shares, dtype=torch.float64, device=curve.device)
        height = area(curve, at) / (at[-1] - at[0]) if len(self.shares) > 1 else curve[:, 0]
        return height if self.order == "morf" else 1 - height


def _recipe(setting: Setting) -> Recipe:
    if setting.recipe is None:
        raise NotApplicable("needs to retrain the model, and this environment has no recipe for that")
    return setting.recipe


def _with_prefix(prepared: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in prepared.items() if name.startswith(prefix)}


def _balanced_accuracy(evidence: Evidence) -> NDArray[np.float64] | None:
    """The mean over the classes that occur of the share of right answers (shares,)."""
    if not len(evidence):
        return None
    of_class = [evidence["right"][evidence["label"] == label] for label in np.unique(evidence["label"])]
    return np.mean([right.mean(axis=(0, 2)) for right in of_class], axis=0)  # type: ignore[no-any-return]


def _auroc(evidence: Evidence) -> NDArray[np.float64] | None:
    """The probability that a sample of class 1 has the larger margin than one of class 0, ties half (shares,)."""
    is_positive = evidence["label"] == 1
    positives, negatives = int(is_positive.sum()), int((~is_positive).sum())
    if not positives * negatives:
        return None
    ranks = rankdata(evidence["margin"], axis=0)[is_positive].sum(axis=0)
    wins = ranks - positives * (positives + 1) / 2
    return (wins / (positives * negatives)).mean(axis=1)  # type: ignore[no-any-return]
