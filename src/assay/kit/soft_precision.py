"""Soft precision and recall: the share of a map that lies on the truth, and the share of the truth under the map.

AttributionLab, section 4 and eq. 17. Maps and truths are (B, P), scores (B,); everything is computed in float64.
"""

from __future__ import annotations

import torch
from torch import Tensor


def normalised(values: Tensor) -> Tensor:
    """Eq. 17: positive values over the largest, negative ones over the size of the smallest, so that both reach 1.

    A truth in {-1, 0, 1} stays as it is. A graded truth is brought to the scale of the map by the same rule (ours).
    """
    values = values.double()
    return scaled_by_largest(values.clamp(min=0)) - scaled_by_largest((-values).clamp(min=0))


def scaled_by_largest(values: Tensor) -> Tensor:
    """Non-negative values over the largest of their row; a row of zeros stays 0."""
    return _over(values, values.amax(dim=1, keepdim=True))


def part_of_sign(values: Tensor, sign: str) -> Tensor:
    """The size of each value that has this sign, else 0; "overall" is either sign."""
    match sign:
        case "overall":
            return values.abs()
        case "positive":
            return values.clamp(min=0)
        case "negative":
            return (-values).clamp(min=0)
    raise ValueError(f"unknown sign {sign!r}: overall, positive or negative")


def precision(claimed: Tensor, true: Tensor) -> Tensor:
    """Share of the claimed mass that is true; 0 where nothing is claimed."""
    return _over((claimed * true).sum(dim=1), claimed.sum(dim=1))


def recall(claimed: Tensor, true: Tensor) -> Tensor:
    """Share of the truth that is claimed; 0 where nothing is true."""
    return _over((claimed * true).sum(dim=1), true.sum(dim=1))


def f1(claimed: Tensor, true: Tensor) -> Tensor:
    """Harmonic mean of precision and recall; 0 where both are 0."""
    share_true, share_claimed = precision(claimed, true), recall(claimed, true)
    return _over(2 * share_true * share_claimed, share_true + share_claimed)


def _over(part: Tensor, whole: Tensor) -> Tensor:
    return part / torch.where(whole > 0, whole, 1.0)
