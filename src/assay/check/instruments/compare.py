"""Compare two answers to the same question."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from assay.core.evidence import Array, Evidence

ROUNDING = 1e-5  # relative to a map's largest entry: the effect of another order of additions in float32


def same_bits(left: Tensor, right: Tensor) -> bool:
    """True for equal shape, dtype and numbers; NaN equals NaN."""
    if left.shape != right.shape or left.dtype != right.dtype:
        return False
    return bool(((left == right) | (left.isnan() & right.isnan())).all())


def differing_rows(left: Tensor, right: Tensor, tolerance: float = ROUNDING) -> list[int]:
    """Rows that differ by more than ``tolerance`` times the row's largest finite entry.

    NaN equals NaN and infinity equals infinity: whether these may occur is another contract.
    """
    if left.shape != right.shape:
        return list(range(max(len(left), len(right))))
    a, b = (side.detach().double().flatten(1) for side in (left, right))
    size = torch.maximum(_finite_sizes(a), _finite_sizes(b)).amax(dim=1, keepdim=True)
    close = torch.isclose(a, b, rtol=0, atol=0, equal_nan=True) | ((a - b).abs() <= tolerance * size)
    return (~close.all(dim=1)).nonzero().flatten().tolist()


def _finite_sizes(values: Tensor) -> Tensor:
    return torch.where(values.isfinite(), values, 0).abs()


def differing_evidence(left: Evidence, right: Evidence, tolerance: float = 0.0) -> dict[str, list[int]]:
    """Samples whose evidence differs, by the name of the array.

    Arrays without one row per sample on both sides are left out: the contract ``rows`` is about them.
    """
    shared = [name for name in left.rows if name in right.rows]
    complete = [name for name in shared if len(left[name]) == len(right[name]) == len(left) == len(right)]
    differences = {name: _differing_array_rows(left[name], right[name], tolerance) for name in complete}
    return {name: rows for name, rows in differences.items() if rows}


def _differing_array_rows(left: Array, right: Array, tolerance: float) -> list[int]:
    if left.shape != right.shape:
        return list(range(len(left)))
    a, b = (side.astype(np.float64).reshape(len(side), -1) for side in (left, right))
    close = np.isclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)
    return [int(row) for row in np.flatnonzero(~close.all(axis=1))]


def listed_samples(rows: list[int], limit: int = 5) -> str:
    """The samples of these rows, for a message."""
    listed = ", ".join(map(str, rows[:limit]))
    return f"samples {listed}" + (f" and {len(rows) - limit} more" if len(rows) > limit else "")
