"""Bars of one sample, the largest first: how each method orders the features of a table, next to the truth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from assay.engine.store.arrays import Array
from assay.report.samples import FEATURES, GallerySamples
from assay.stats.ranks import average_ranks

NOTE = (
    "Bars go from the largest absolute value down, to the right above 0 and to the left below; every panel has a scale "
    "of its own. Blue features may have an effect, orange ones never have: they are noise. Spearman: rank correlation "
    "of absolute values with the truth."
)


@dataclass(frozen=True)
class Bar:
    """One feature."""

    name: str
    value: float
    length: float  # share of the longest, negative below 0
    informative: bool


@dataclass(frozen=True)
class RankedBars:
    """One panel: the features of a sample as the truth or a method orders them."""

    bars: tuple[Bar, ...]
    caption: str  # the rank correlation with the truth, or the largest value of the truth itself

    @property
    def text(self) -> str:
        return ", ".join(f"{bar.name} {bar.value:.3g}" for bar in self.bars)


def ranked_bars(samples: GallerySamples, position: int, columns: list[Array | str]) -> Iterator[RankedBars | str]:
    """The panels of a sample, in the order of ``columns``, the first of which is the truth; or why there is none."""
    assert samples.truth is not None
    truth = samples.truth[position].ravel()
    for number, column in enumerate(columns):
        if isinstance(column, str):
            yield column
        else:
            values = column[position].ravel()
            caption = _agreement(values, truth) if number else f"± {np.abs(truth).max():.3g}"
            yield RankedBars(tuple(_bars(samples, values)), caption)


def _bars(samples: GallerySamples, values: Array) -> Iterator[Bar]:
    largest, informative = float(np.abs(values).max()) or 1.0, samples.informative or ()
    for feature in map(int, np.argsort(-np.abs(values), kind="stable")[:FEATURES]):
        value = float(values[feature])
        yield Bar(samples.name(feature), value, value / largest, feature in informative)


def _agreement(values: Array, truth: Array) -> str:
    correlation = spearman(np.abs(values), np.abs(truth))
    return "Spearman undefined" if correlation is None else f"Spearman {correlation:.2f}"


def spearman(left: Array, right: Array) -> float | None:
    """Rank correlation, equal values sharing their average rank; None where one side is constant."""
    if np.ptp(left) == 0 or np.ptp(right) == 0:
        return None
    return float(np.corrcoef(average_ranks(left), average_ranks(right))[0, 1])
