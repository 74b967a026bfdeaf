"""Bars of one sample's features: which are shown, in which order, and what the others add up to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.engine.store.arrays import Array
from assay.report.samples import GallerySamples

MOST = 12  # features; the others are added up


@dataclass(frozen=True)
class FeatureBars:
    """The features of largest value, and the sum of the others: a label and, in each column, a number for each bar."""

    labels: tuple[str, ...]
    columns: tuple[Array | str, ...]  # or the reason why there are no numbers


def feature_bars(samples: GallerySamples, position: int, columns: Sequence[Array | str]) -> FeatureBars:
    """The bars of a sample, the same features for all columns: the truth, if any, and methods.

    The order is that of a single method, else of the first column that has numbers.
    """
    own = [column if isinstance(column, str) else column[position].ravel() for column in columns]
    with_numbers = [column for column in own if not isinstance(column, str)]
    if not with_numbers:
        return FeatureBars((), tuple(own))
    weights = with_numbers[-1 if len(samples.maps or ()) == 1 else 0]
    order = np.argsort(-np.abs(weights), kind="stable")
    shown = order if len(order) <= MOST + 1 else order[:MOST]
    others = order[len(shown) :]
    labels = [samples.label(position, int(feature)) for feature in shown]
    labels += [f"and {len(others)} more, their sum"] if len(others) else []
    sums = [column if isinstance(column, str) else _with_sum(column, shown, others) for column in own]
    return FeatureBars(tuple(labels), tuple(sums))


def _with_sum(values: Array, shown: Array, others: Array) -> Array:
    return np.append(values[shown], values[others].sum()) if len(others) else values[shown]
