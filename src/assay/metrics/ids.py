"""The incremental deletion score (Hesse et al., 2024)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import torch
from torch import Tensor

from assay.core.errors import SpecError
from assay.core.evidence import Evidence
from assay.core.promises import Varies
from assay.core.question import Question
from assay.core.trial import Trial
from assay.kit.masks import among_first
from assay.kit.ranks import places
from assay.metrics._order import mean_rows, ordered, without_first
from assay.metrics._removal import Removal


@dataclass(frozen=True)
class Ids:
    """Mean probability of the target while features are deleted, lowest or highest attribution first.

    Ascending, lowest first, higher is better; descending (``ids_descending``), lower is. Read with 0, 1/32, ..., 31/32
    of the features deleted: the bare canvas is left out. The mean over these points, not an area. Asked again, the
    method explains what is left after every step, and what is deleted stays deleted. A constant map is ranked by its
    ties alone. Undefined where the model has no finite answer.
    """

    order: Literal["ascending", "descending"] = "ascending"  # deleted first: the lowest attribution, or the highest
    steps: int = 32  # points of the curve, the intact input being the first
    absolute: bool = False  # rank by the size of the attribution, whatever its sign
    ties: Literal["stable", "random"] = "stable"  # equal attributions: in reading order, or shuffled per sample
    canvas: str | float = "zero"  # what replaces a feature: zero, true, mean, uniform, blur, noise, impute, a number
    jitter: float = 0.01  # deviation of the noise on imputed pixels
    again: bool = False  # ask the method again at every step

    higher_is_better: ClassVar[bool] = True
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    ideal: ClassVar[float] = 1.0
    invariant: ClassVar[tuple[str, ...]] = ("scale", "shift", "monotone")
    exact_on_linear: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ("model",)
    cost: ClassVar[str] = "steps model rows a sample; with again=True as many attributions"
    axes: ClassVar[tuple[str, str]] = ("share of features deleted, lowest first", "probability")
    varies: ClassVar[Varies] = (
        (
            "order",
            "descending",
            {
                "higher_is_better": False,
                "ideal": 0.0,
                "axes": ("share of features deleted, highest first", "probability"),
                "controls": "not told apart from the best method: random_map (CIFAR-10)",
            },
        ),
        ("absolute", True, "shift"),
    )
    aliases: ClassVar[tuple[tuple[str, str, object], ...]] = (("ids_descending", "order", "descending"),)
    paper: ClassVar[str] = "IDSDS (Hesse et al., 2024), incremental deletion"

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise SpecError(f"ids: steps={self.steps} make no curve. Write 1 or more.")

    def __call__(self, trial: Trial) -> Evidence:
        removal = Removal.of(trial.scene, self.canvas, Question("probability"), self.jitter)
        order = self._ordered(trial)
        counts = torch.arange(self.steps) * order.shape[1] // self.steps
        if self.again:
            order = self._asked_again(trial, removal, order, counts)
        share = torch.arange(self.steps).double() / self.steps
        return mean_rows(without_first(removal, order, counts, removal.query.score), share)

    def _ordered(self, trial: Trial) -> Tensor:
        return ordered(trial, self.absolute, self.ties, lowest=self.order == "ascending")

    def _asked_again(self, trial: Trial, removal: Removal, order: Tensor, counts: Tensor) -> Tensor:
        """The order when the method is asked again at every step about what is left; what is deleted stays deleted."""
        shape = trial.scene.setting.features.shape
        for count in counts[1:].tolist():
            place = places(order)
            x = removal(among_first(place.view(-1, *shape), torch.tensor([count], device=order.device)))[0]
            fresh = places(self._ordered(replace(trial, attribution=trial.again(x))))
            order = torch.where(place < count, place, fresh + order.shape[1]).argsort(dim=1)
        return order
