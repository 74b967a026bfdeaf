"""IDS: the target's probability while features are deleted, read after every step but the last."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from assay.core.evidence import Evidence
from assay.core.trial import Trial
from assay.kit.masks import among_first
from assay.kit.ranks import places
from assay.metrics._ask import ask_without
from assay.metrics._fill import Removal
from assay.metrics._order import mean_rows, ordered, without_first


def deleted(
    trial: Trial, lowest: bool, steps: int, absolute: bool, ties: str, canvas: str | float, jitter: float, again: bool
) -> Evidence:
    """Rows of the mean over 0, 1/steps, ..., 1 - 1/steps of the features deleted."""
    removal = ask_without(trial.scene, "probability", None, canvas, jitter)
    order = ordered(trial, absolute, ties, lowest)
    counts = torch.arange(steps) * order.shape[1] // steps
    if again:
        order = _asked_again(trial, removal, order, counts, lowest, absolute, ties)
    return mean_rows(without_first(removal, order, counts, removal.query.score), torch.arange(steps).double() / steps)


def _asked_again(
    trial: Trial, removal: Removal, order: Tensor, counts: Tensor, lowest: bool, absolute: bool, ties: str
) -> Tensor:
    """The order when the method is asked again at every step about what is left; what is deleted stays deleted."""
    shape = trial.scene.setting.features.shape
    for count in counts[1:].tolist():
        place = places(order)
        x = removal(among_first(place.view(-1, *shape), torch.tensor([count], device=order.device)))[0]
        fresh = places(ordered(replace(trial, attribution=trial.again(x)), absolute, ties, lowest))
        order = torch.where(place < count, place, fresh + order.shape[1]).argsort(dim=1)
    return order
