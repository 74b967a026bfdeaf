"""Bars of one sample's features: which are shown, in which order, and what the others add up to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.engine.store.arrays import Array
from assay.report.colours import scale_of
from assay.report.samples import GallerySamples

MOST = 12  # features; the others are added up
ROUNDING = 1e-12  # of the largest value: what is smaller is shown as 0


@dataclass(frozen=True)
class BarColumn:
    """The numbers of a column of bars."""

    values: Array  # of the features that are shown
    largest: float  # absolute value of all features: the end of the scale
    others: float  # the sum of the features that are not shown


@dataclass(frozen=True)
class FeatureBars:
    """The features of largest value, and how many others there are."""

    labels: tuple[str, ...]
    columns: tuple[BarColumn | str, ...]  # or the reason why there are no numbers
    hidden: int = 0


def feature_bars(samples: GallerySamples, position: int, columns: Sequence[Array | str]) -> FeatureBars:
    """The bars of a sample, the same features for all columns: the truth, if any, and methods.

    The order is that of a single method, else of the first column that has numbers.
    """
    own = [column if isinstance(column, str) else column[position].ravel() for column in columns]
    with_numbers = [column for column in own if not isinstance(column, str)]
    if not with_numbers:
        with_numbers = [np.zeros(max(1, len(samples.names)))]
    weights = with_numbers[-1 if len(samples.maps or ()) == 1 else 0]
    order = np.argsort(-np.abs(weights), kind="stable")
    shown = order if len(order) <= MOST + 1 else order[:MOST]
    labels = tuple(samples.label(position, int(feature)) for feature in shown)
    drawn = tuple(column if isinstance(column, str) else _column(column, shown) for column in own)
    return FeatureBars(labels, drawn, len(order) - len(shown))


def _column(values: Array, shown: Array) -> BarColumn:
    largest, others = scale_of(values), float(np.delete(values, shown).sum())
    smallest = ROUNDING * largest
    kept = np.where(np.abs(values[shown]) < smallest, 0.0, values[shown])
    return BarColumn(kept, largest, others if abs(others) >= smallest else 0.0)
