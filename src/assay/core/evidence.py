"""Evidence, a metric's rows per sample, and scores, its values for a set of samples. Torch-free."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.core.records import Record

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
    """A metric's value for a set of samples: what ``reduce`` returns, what is stored, and what every table shows.

    A metric gives the fields up to ``at``; the others are filled in later. ``value`` is None where no sample defines
    it, and where the score was skipped or failed.
    """

    value: float | None
    count: int = 0  # samples, over all seeds
    defined: int = 0  # of these, how many the value rests on
    curve: Array | None = None
    curve_defined: npt.NDArray[np.bool_] | None = None  # where at least one sample defines the curve; None: everywhere
    at: Array | None = None  # what the curve is drawn over, if it depends on the samples; None: the evidence's axis
    _: KW_ONLY
    seed_curves: Array | None = None  # (seeds, 2, points): each seed's axis and curve, NaN where undefined
    low: float | None = None  # end of the 95 % interval; None: no interval
    high: float | None = None
    per_seed: tuple[float | None, ...] = ()  # the value of each seed; None where it is undefined
    basis: str = (
        ""  # seeds, samples, draw (samples of one draw of the model), two (seeds), equal, count, or "": no interval
    )
    ceiling: float | None = None  # the best value possible for the method on these samples, where the metric knows it
    unit: str = ""  # what methods are compared on: seeds, samples; "": nothing
    environment: str = ""  # labels
    method: str = ""
    metric: str = ""
    status: str = "ok"  # ok, skipped, failed
    reason: str = ""  # why there is no value
    traceback: str = ""  # for failed
    key: str = ""  # of its record
    rank: float | None = None  # among the methods of a board: 1 is best; ties share their average
    explains: str = ""  # the number that the method explained, where it is not the one that the metric read
    reads: str = ""  # the number that the metric read, where it is not the one that the method explained
    evidence: Evidence | None = None  # of all samples, where it is in memory

    @property
    def per_sample(self) -> Array | None:
        """The value of each sample; None for metrics of a whole set, and where the evidence is not in memory."""
        return None if self.evidence is None else self.evidence.rows.get("value")

    @property
    def data(self) -> dict[str, Any]:
        """The fields that are stored; arrays are stored beside them."""
        return {name: getattr(self, name) for name in _STORED} | {"per_seed": list(self.per_seed)}

    def __repr__(self) -> str:
        value = (self.reason or "undefined") if self.value is None else f"{self.value:.4f}"
        interval = "" if self.low is None or self.high is None else f" [{self.low:.4f}, {self.high:.4f}]"
        label = f"{self.metric}: " if self.metric else ""
        return f"{label}{value}{interval} ({self.defined} of {self.count} samples)"


_STORED = ("value", "low", "high", "per_seed", "basis", "count", "defined", "ceiling", "unit")
_NONE: Mapping[str, Any] = MappingProxyType({})


def read_score(record: Record | None, names: Mapping[str, str] = _NONE, arrays: Mapping[str, Array] = _NONE) -> Score:
    """A stored score; ``names`` are its labels and its key. Its curve is read where its arrays are given."""
    fields: dict[str, Any] = dict(names)
    if record is None:
        return Score(None, status="failed", reason="the score is not in the store: run the study again", **fields)
    if record.status != "ok":
        return Score(None, status=record.status, reason=record.reason, traceback=record.traceback, **fields)
    fields |= {name: record.data[name] for name in _STORED if name in record.data}
    fields |= {"per_seed": tuple(fields["per_seed"]), "reason": _without_value(record.data)}
    fields |= {"curve": arrays.get("curve"), "curve_defined": arrays.get("curve_defined"), "at": arrays.get("axis")}
    if "basis" not in fields:  # an older record: its intervals were too narrow and are not shown
        fields |= {"low": None, "high": None}
    return Score(**fields)


def _without_value(data: Mapping[str, Any]) -> str:
    """Why a score has no value: no sample is defined, or the defined samples reach no level to average over."""
    if data["value"] is not None:
        return ""
    if not data["defined"]:
        return f"undefined on all {data['count']} samples"
    return f"no value: the {data['defined']} samples that count reach no level"


Reduce = Callable[[Evidence], Score]


def mean_score(evidence: Evidence) -> Score:
    """The mean value, and the mean curve, over the samples on which the value is defined."""
    defined = evidence.defined
    count = int(defined.sum())
    if count == 0:
        return Score(None, len(evidence), 0)
    curve = evidence["curve"][defined].mean(axis=0, dtype=np.float64) if "curve" in evidence.rows else None
    return Score(float(evidence["value"][defined].mean(dtype=np.float64)), len(evidence), count, curve)
