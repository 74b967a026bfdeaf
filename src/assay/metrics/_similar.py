"""How alike two maps are."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import normalize

from assay.kit.ranks import spearman


def similar(left: Tensor, right: Tensor, by: str, absolute: bool) -> tuple[Tensor, Tensor]:
    """Similarity over the last dimension, and where it is defined: a map that says nothing is like no other.

    That is a constant map for rank correlation, and a map of zeros for the cosine.
    """
    left, right = (side.abs() if absolute else side for side in (left, right))
    if by == "spearman":
        return spearman(_settled(left), _settled(right))
    left, right = left.double(), right.double()
    defined = left.any(dim=-1) & right.any(dim=-1)
    cosine = (_unit(left) * _unit(right)).sum(dim=-1).clamp(-1, 1)
    return cosine.where(defined, 0.0), defined


def _settled(values: Tensor) -> Tensor:
    """Numbers on a grid, 6e-6 of a map's largest apart in float32 and 2e-12 in float64.

    Where two numbers differ by rounding alone, their ranks are then equal and not a matter of luck.
    """
    largest = values.abs().amax(dim=-1, keepdim=True)
    step = largest.where(largest > 0, 1.0) * torch.finfo(values.dtype).eps ** 0.75
    return torch.round(values / step)


def _unit(values: Tensor) -> Tensor:
    largest = values.abs().amax(dim=-1, keepdim=True)
    return normalize(values / largest.where(largest > 0, 1.0), dim=-1)  # tiny values must not vanish when squared
