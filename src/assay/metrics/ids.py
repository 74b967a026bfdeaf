"""The incremental deletion score (Hesse et al., 2024)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import torch
from torch import Tensor

from assay.core.errors import SpecError
from assay.core.evidence import Evidence
from assay.core.facts import Varies
from assay.core.question import Question
from assay.core.trial import Trial
from assay.kit.feature_orders import among_first, positions
from assay.metrics._order import feature_order, mean_rows, read_without_first
from assay.metrics._removal import Removal, one_canvas


@dataclass(frozen=True)
class Ids:
    """Mean probability of the target while features are deleted, lowest or highest attribution first.

    Ascending deletes the lowest first, and higher is better; descending (``ids_descending``) deletes the highest first,
    and lower is better. The curve has points at 0, 1/32, ..., 31/32 of the features deleted, without the bare canvas.
    The value is the mean over these points, not an area. With ``again``, the method explains what is left after every
    step; deleted features stay deleted. A constant map is ranked by its ties alone. Undefined where the model has no
    finite answer.
    """

    order: Literal["ascending", "descending"] = "ascending"  # deleted first: the lowest attribution, or the highest
    steps: int = 32  # points of the curve; the first is the intact input
    absolute: bool = False  # rank by absolute attribution
    ties: Literal["stable", "random"] = "stable"  # equal attributions: in reading order, or shuffled per sample
    canvas: str | float = "zero"  # for features: zero, true, mean, colour, uniform, blur, noise, impute or a number
    jitter: float = 0.01  # deviation of the noise on imputed pixels
    again: bool = False  # ask the method again after every step

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
            },
        ),
        ("absolute", True, "shift"),
    )
    aliases: ClassVar[tuple[tuple[str, str, object], ...]] = (("ids_descending", "order", "descending"),)
    paper: ClassVar[str] = "IDSDS (Hesse et al., 2024), incremental deletion"

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise SpecError(f"ids: steps={self.steps} make no curve: write 1 or more.")

    def __call__(self, trial: Trial) -> Evidence:
        removal = Removal.of(trial.scene, one_canvas(self.canvas), Question("probability"), self.jitter)
        order = self._order(trial)
        counts = torch.arange(self.steps) * order.shape[1] // self.steps
        if self.again:
            order = self._updated_order(trial, removal, order, counts)
        share = torch.arange(self.steps).double() / self.steps
        return mean_rows(read_without_first(removal, order, counts, removal.query.score), share)

    def _order(self, trial: Trial) -> Tensor:
        return feature_order(trial, self.absolute, self.ties, lowest=self.order == "ascending")

    def _updated_order(self, trial: Trial, removal: Removal, order: Tensor, counts: Tensor) -> Tensor:
        """The order when the method is asked again at every step about what is left; deleted features stay deleted."""
        shape = trial.scene.setting.features.shape
        for count in counts[1:].tolist():
            position = positions(order)
            x = removal(among_first(position.view(-1, *shape), torch.tensor([count], device=order.device)))[0]
            new_position = positions(self._order(replace(trial, attribution=trial.again(x))))
            order = torch.where(position < count, position, new_position + order.shape[1]).argsort(dim=1)
        return order
