"""How similar two maps are."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import normalize

from assay.kit.feature_orders import spearman


def similarity(left: Tensor, right: Tensor, by: str, absolute: bool) -> tuple[Tensor, Tensor]:
    """Similarity over the last dimension, and where it is defined.

    Undefined where a map says nothing: for rank correlation a constant map, for the cosine a map of zeros.
    """
    left, right = (side.abs() if absolute else side for side in (left, right))
    if by == "spearman":
        return spearman(_on_grid(left), _on_grid(right))
    left, right = left.double(), right.double()
    defined = left.any(dim=-1) & right.any(dim=-1)
    cosine = (_unit_length(left) * _unit_length(right)).sum(dim=-1).clamp(-1, 1)
    return cosine.where(defined, 0.0), defined


def _on_grid(values: Tensor) -> Tensor:
    """Values rounded to a grid, with a step of 6e-6 of the map's largest in float32 and 2e-12 in float64.

    Values that differ by rounding alone then have equal ranks.
    """
    largest = values.abs().amax(dim=-1, keepdim=True)
    step = largest.where(largest > 0, 1.0) * torch.finfo(values.dtype).eps ** 0.75
    return torch.round(values / step)


def _unit_length(values: Tensor) -> Tensor:
    largest = values.abs().amax(dim=-1, keepdim=True)
    return normalize(values / largest.where(largest > 0, 1.0), dim=-1)  # tiny values would vanish when squared
