"""What methods are compared on: seeds where a seed draws a model, samples where it draws samples only."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.core.evidence import Evidence, Reduce
from assay.stats.intervals import are_means, are_separate, sample_numbers
from assay.stats.ranks import rounding_of


@dataclass(frozen=True, eq=False)
class Units:
    """The units of a score. Those of two methods in one environment correspond."""

    unit: str  # seeds: the score has a value of each; samples; "": none
    values: npt.NDArray[np.float64] | None = None  # of each sample; 0 where it is undefined
    defined: npt.NDArray[np.bool_] | None = None

    @property
    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """What a score stores of them."""
        if self.values is None or self.defined is None:
            return {}
        return {"samples": self.values, "samples_defined": self.defined}


def score_units(
    per_seed: Sequence[Evidence],
    values: Sequence[float | None],
    reduce: Reduce,
    draws_model: bool,
    identities: Sequence[Sequence[Hashable]] | None = None,
) -> Units:
    """The units of a score, from each seed's evidence and its value; other arguments as for ``interval``.

    A sample of several seeds is one unit: its mean over the seeds that define it. A score of the whole set has no value
    per sample: its units are the seeds, or none if seeds share many samples.
    """
    if draws_model:
        return Units("seeds")
    count, numbers = sample_numbers(per_seed, identities)
    valued = [(evidence, value) for evidence, value in zip(per_seed, values, strict=True) if value is not None]
    if not are_means([evidence for evidence, _ in valued], reduce, np.array([value for _, value in valued])):
        return Units("seeds" if are_separate(count, per_seed) else "")
    times, total = np.zeros(count), np.zeros(count)
    for evidence, row_samples in zip(per_seed, numbers, strict=True):
        np.add.at(times, row_samples[evidence.defined], 1)
        np.add.at(total, row_samples[evidence.defined], evidence["value"][evidence.defined])
    return Units("samples", total / np.maximum(times, 1), times > 0)


def deviation(values: Sequence[float | None]) -> float | None:
    """The standard deviation of those that are defined; 0 if they are equal up to rounding, None for fewer than two."""
    defined = np.array([value for value in values if value is not None])
    if len(defined) < 2:
        return None
    return 0.0 if np.ptp(defined) <= rounding_of(defined) else float(np.std(defined, ddof=1))
