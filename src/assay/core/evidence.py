"""Evidence, a metric's rows per sample, and scores, its values for a set of samples. Torch-free."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.generic]


@dataclass(frozen=True, eq=False)
class Evidence:
    """Arrays with one row per sample; blocks of samples merge by concatenation.

    ``value`` is the score per sample, if there is one. ``defined`` is True where it means something; an undefined value
    is 0 and never averaged. Other rows belong to the metric. ``axis`` is what a curve is drawn over.
    """

    rows: Mapping[str, Array]
    axis: Mapping[str, Array] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(next(iter(self.rows.values())))

    def __getitem__(self, name: str) -> Array:
        return self.rows[name]

    @property
    def defined(self) -> npt.NDArray[np.bool_]:
        return self.rows["defined"].astype(bool) if "defined" in self.rows else np.ones(len(self), dtype=bool)

    def take(self, index: npt.NDArray[np.int64] | slice) -> Evidence:
        """The evidence about a subset or a resample of the samples."""
        return Evidence({name: rows[index] for name, rows in self.rows.items()}, self.axis)

    def to_arrays(self) -> dict[str, Array]:
        axis = {f"axis.{name}": array for name, array in self.axis.items()}
        return {**{f"rows.{name}": array for name, array in self.rows.items()}, **axis}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> Evidence:
        rows = {name[5:]: array for name, array in arrays.items() if name.startswith("rows.")}
        return cls(rows, {name[5:]: array for name, array in arrays.items() if name.startswith("axis.")})


def merge(blocks: Sequence[Evidence]) -> Evidence:
    """Concatenate the evidence of consecutive blocks of samples."""
    names = blocks[0].rows
    for block in blocks:
        if any(
            name not in block.axis or not np.array_equal(axis, block.axis[name])
            for name, axis in blocks[0].axis.items()
        ):
            raise ValueError("blocks of evidence whose curves have different axes do not merge")
    return Evidence({name: np.concatenate([block[name] for block in blocks]) for name in names}, blocks[0].axis)


@dataclass(frozen=True, eq=False)
class Score:
    """A metric's value for a set of samples; ``value`` is None when it is defined on none of them."""

    value: float | None
    count: int  # samples
    defined: int  # samples on which the value is defined
    curve: Array | None = None
    curve_defined: npt.NDArray[np.bool_] | None = None  # where at least one sample defines the curve; None: everywhere
    at: Array | None = None  # what the curve is drawn over, if it depends on the samples; None: the evidence's axis


Reduce = Callable[[Evidence], Score]


def mean_score(evidence: Evidence) -> Score:
    """The mean value, and the mean curve, over the samples on which the value is defined."""
    defined = evidence.defined
    count = int(defined.sum())
    if count == 0:
        return Score(None, len(evidence), 0)
    curve = evidence["curve"][defined].mean(axis=0, dtype=np.float64) if "curve" in evidence.rows else None
    return Score(float(evidence["value"][defined].mean(dtype=np.float64)), len(evidence), count, curve)
