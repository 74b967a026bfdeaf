"""Evidence from tensors."""

from __future__ import annotations

from torch import Tensor

from assay.core.evidence import Evidence


def rows(axis: Tensor | None = None, **tensors: Tensor) -> Evidence:
    """Named tensors (B, ...) as evidence; ``axis`` is what the curve is drawn over."""
    axes = {} if axis is None else {"curve": axis.cpu().numpy()}
    return Evidence({name: tensor.cpu().numpy() for name, tensor in tensors.items()}, axes)
