"""The rows with the largest values of each column, and how many of them two tables have in common. Without torch."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def among_top(values: Array, k: int) -> Array:
    """The weight (n, columns) of a row among the ``k`` largest; rows that tie for the last positions share them, and
    those with the lowest value have weight 0."""
    last = -np.partition(-values, k - 1, axis=0)[k - 1]
    above, tied = values > last, values == last
    share: Array = above + tied * (k - above.sum(axis=0)) / tied.sum(axis=0)
    return np.where(values > values.min(axis=0), share, 0.0)


def shares_in_common(left: Array, right: Array, k: int) -> Array:
    """By column: the share of top rows that both have, relative to the table with more of them; no constant columns."""
    first, second = among_top(left, k), among_top(right, k)
    share: Array = np.minimum(first, second).sum(axis=0) / np.maximum(first.sum(axis=0), second.sum(axis=0))
    return share


def varying(left: Array, right: Array) -> npt.NDArray[np.int64]:
    """The columns that are constant in neither table."""
    return np.flatnonzero((np.ptp(left, axis=0) > 0) & (np.ptp(right, axis=0) > 0))
