"""ROAD: what is left of accuracy, or of the target's probability, when shares of the features are removed."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from assay.core.errors import SpecError
from assay.core.evidence import Evidence
from assay.core.trial import Trial
from assay.kit.curves import parts_of
from assay.metrics._order import mean_rows, ordered, read_by, without_first


def check_ratios(name: str, ratios: Sequence[float]) -> None:
    if not ratios or min(ratios) < 0 or max(ratios) > 1:
        raise SpecError(f"{name}: ratios={ratios} are no shares of features. Write one or more numbers from 0 to 1.")


def removed(
    trial: Trial,
    lowest: bool,
    ratios: Sequence[float],
    by: str,
    absolute: bool,
    ties: str,
    canvas: str | float,
    jitter: float,
) -> Evidence:
    """Rows of the mean over ratios, the highest attribution removed first or the lowest."""
    removal, read = read_by(trial.scene, by, "probability", None, canvas, jitter)
    order = ordered(trial, absolute, ties, lowest)
    counts = parts_of(order.shape[1], ratios)
    return mean_rows(without_first(removal, order, counts, read), torch.tensor(ratios, dtype=torch.float64))
