"""ROAR, remove and retrain (Hooker et al., 2019)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from assay.core.errors import NotApplicable, SpecError
from assay.core.evidence import Evidence
from assay.core.promises import Varies
from assay.core.question import Question
from assay.core.setting import Recipe, Setting
from assay.core.trial import Scene, Trial
from assay.kit.curves import area, parts_of
from assay.kit.masks import among_first
from assay.kit.ranks import descending, places
from assay.metrics._order import ordered
from assay.metrics._removal import Removal, correctness
from assay.metrics._rows import rows

HELD = 2**26  # numbers of prepared training rows that are held at once


@dataclass(frozen=True)
class Roar:
    """Accuracy of models trained anew without the features of highest attribution, averaged over shares removed.

    For every share, the top features of the reference rows are replaced, a new model is trained on these rows, and it
    is asked about evaluated rows whose top features are replaced likewise. The value is the area under the curve of
    accuracy over shares, by the trapezoid rule, divided by its width: an accuracy, whose relative differences are those
    of the areas; of one share, the accuracy there. Share 0 is a model trained anew on intact rows, the same for all
    methods.

    Removal by sample is Hooker's; which features are missing may then tell the class, to the new model too. The global
    ranking is Katakam's: one order for all rows, by the mean over reference rows of attributions divided by the sum of
    their sizes; it judges the maps of reference rows only. ``order='lerf'`` keeps the top and removes the lowest first
    (KAR); its value is the error, 1 - accuracy, so that lower is better there, too; its curve is the accuracy.

    A value means something next to that of ``random_map``: include it. With the global ranking that is one random order
    for each seed of the study, and new models are drawn by it, too: intervals are over seeds, from three on. A share is
    rounded down to whole features. On images ``mean`` is the mean image, where Hooker takes each channel's mean (ours).
    Defined for every sample. New models see the reference rows alone, which on images may be fewer than the old model
    saw.
    """

    shares: tuple[float, ...] = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5)  # of the features, removed; ascending
    ranking: Literal["sample", "global"] = "sample"  # every row's own order, or one for all
    order: Literal["morf", "lerf"] = "morf"  # removed first: the highest attribution, or the lowest
    canvas: str | float = "mean"  # in place of a feature: mean, zero, true, uniform, blur, noise or a number
    repeats: int = 1  # models trained for every share, with seeds of their own
    absolute: bool = True  # rank by the size of the attribution, whatever its sign
    ties: Literal["random", "stable"] = "random"  # equal attributions: shuffled, or in reading order

    higher_is_better: ClassVar[bool] = False
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    ideal: ClassVar[float] = 0.0
    invariant: ClassVar[tuple[str, ...]] = ("scale", "monotone")
    varies: ClassVar[Varies] = (("ranking", "global", "monotone"),)
    exact_on_linear: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ("model", "label")
    cost: ClassVar[str] = "shares x repeats trainings a method, then as many model rows a sample"
    axes: ClassVar[tuple[str, str]] = ("share of features removed", "accuracy after retraining")
    controls: ClassVar[str] = "better than every method tried: random_map, constant and edge_map (linear)"
    paper: ClassVar[str] = "ROAR (Hooker et al., 2019); AGOP-IxG (Katakam, 2026), section 5; arXiv:2605.15700"

    def __post_init__(self) -> None:
        if not self.shares or list(self.shares) != sorted({*self.shares}) or self.shares[0] < 0 or self.shares[-1] > 1:
            raise SpecError(f"roar: shares={self.shares} must be one or more numbers from 0 to 1, ascending.")
        if self.repeats < 1:
            raise SpecError(f"roar: repeats={self.repeats} must be at least 1.")

    def prepare(self, trial: Trial) -> dict[str, Tensor]:
        """The new models' weights, named ``share.repeat.name``; with a global ranking, also the order of features."""
        scene = trial.scene
        recipe, removal = _recipe(scene.setting), self._removal(scene)
        order = self._global_order(trial) if self.ranking == "global" else self._order(trial)
        names = [(share, repeat) for share in range(len(self.shares)) for repeat in range(self.repeats)]
        found = {"order": order[0]} if self.ranking == "global" else {}
        size = max(1, HELD // scene.samples.x.numel())
        for group in (names[start : start + size] for start in range(0, len(names), size)):
            x = removal(self._removed(scene.setting, order, [share for share, _ in group]))
            seeds = [scene.stream.seed_for("retraining", repeat) for _, repeat in group]
            for (share, repeat), model in zip(group, recipe.train_many(x, scene.samples.label, seeds), strict=True):
                kept = recipe.weights(model).items()
                found |= {f"{share}.{repeat}.{name}": tensor.detach().clone() for name, tensor in kept}
        return found

    def __call__(self, trial: Trial) -> Evidence:
        scene = trial.scene
        recipe, removal = _recipe(scene.setting), self._removal(scene)
        if not trial.prepared:
            raise NotApplicable("needs attributions of the reference rows, to train new models without their top")
        order = trial.prepared["order"][None] if self.ranking == "global" else self._order(trial)
        found = []
        for share in range(len(self.shares)):
            points = removal(self._removed(scene.setting, order, [share]))
            models = [recipe.restore(_part(trial.prepared, f"{share}.{repeat}.")) for repeat in range(self.repeats)]
            found.append(torch.cat([_right(scene, removal, model, points) for model in models]))
        right = torch.stack(found).permute(2, 0, 1)  # (B, shares, repeats)
        defined = right.isfinite().flatten(1).all(dim=1)
        right = right.where(defined[:, None, None], 0.0)
        curve = right.mean(dim=2)
        value = self._mean(curve) if self.order == "morf" else 1 - self._mean(curve)
        share_removed = torch.tensor(self.shares, dtype=torch.float64)
        return rows(share_removed, value=value.where(defined, 0.0), defined=defined, curve=curve, right=right.bool())

    def _removal(self, scene: Scene) -> Removal:
        return Removal.of(scene, self.canvas, Question("value"), classes="ROAR is about accuracy")

    def _order(self, trial: Trial) -> Tensor:
        """Features (B, P), first those that go first."""
        return ordered(trial, self.absolute, self.ties, self.order == "lerf")

    def _global_order(self, trial: Trial) -> Tensor:
        """The same for all rows (1, P)."""
        maps = trial.map.flatten(1).double()
        size = maps.abs()
        total = size.sum(dim=1, keepdim=True)
        mean = ((size if self.absolute else maps) / torch.where(total > 0, total, 1.0)).mean(dim=0, keepdim=True)
        shuffle = None
        if self.ties == "random":
            stream = trial.scene.generator("ties")
            shuffle = torch.randperm(mean.shape[1], generator=stream)[None].to(mean.device)
        return descending(-mean if self.order == "lerf" else mean, shuffle)

    def _removed(self, setting: Setting, order: Tensor, shares: list[int]) -> Tensor:
        """Bool (len(shares), B or 1, *features)."""
        counts = parts_of(order.shape[1], self.shares)[shares].to(order.device)
        return among_first(places(order).view(-1, *setting.features.shape), counts)

    def _mean(self, curve: Tensor) -> Tensor:
        """The mean height (B,) of curves (B, shares)."""
        if len(self.shares) == 1:
            return curve[:, 0]
        at = torch.tensor(self.shares, dtype=torch.float64, device=curve.device)
        return area(curve, at) / (at[-1] - at[0])


def _recipe(setting: Setting) -> Recipe:
    if setting.recipe is None:
        raise NotApplicable("needs to train the model anew, and this environment has no recipe for it")
    return setting.recipe


def _part(prepared: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in prepared.items() if name.startswith(prefix)}


def _right(scene: Scene, removal: Removal, model: nn.Module, points: Tensor) -> Tensor:
    """Whether a new model chooses the true class (1, B)."""
    setting = replace(scene.setting, model=model.to(scene.samples.x.device), forward=None)
    return correctness(replace(removal.query, setting=setting), scene.samples.label)(points)
