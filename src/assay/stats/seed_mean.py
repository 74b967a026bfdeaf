"""A number of each seed, and its mean over seeds with Student's t where three seeds or more have one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.core.evidence import Evidence, Score
from assay.stats.intervals import interval


def seed_mean(per_seed: Sequence[float | None], bounds: tuple[float, float], independent: bool = True) -> Score:
    """The mean over the seeds that have a number, with its interval by the rule for scores whose seeds draw a model.

    ``bounds``: between which the numbers lie by definition. ``independent``: whether seeds have samples or models of
    their own; without, they allow no interval. The basis is seeds, or why there is no interval: two, equal, one, shared
    (samples). The score counts seeds.
    """
    numbers, defined = tuple(per_seed), sum(number is not None for number in per_seed)
    rows = [
        Evidence({"value": np.array([number or 0.0]), "defined": np.array([number is not None])}) for number in numbers
    ]
    estimate = interval(rows, bounds=bounds)
    if estimate is None or estimate.value is None:
        return Score(None, len(numbers), 0, per_seed=numbers)
    low, high, basis = estimate.low, estimate.high, estimate.basis
    if defined == 1:
        low, high, basis = None, None, "one"
    elif not independent:
        low, high, basis = None, None, "shared"
    value = round(estimate.value, 12) + 0.0  # numbers that cancel out are 0, not -7e-18
    return Score(value, len(numbers), defined, low=low, high=high, basis=basis, per_seed=numbers)
