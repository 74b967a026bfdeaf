"""Values of methods on a user's own model, and their leads over controls: the numbers that verdicts rest on.

Chance is 0 in every row. The other controls are methods. A control is left out of rows in which it has no value, and
altogether where it has values in too few rows for a test to show anything.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from assay.core.errors import AssayError
from assay.stats.intervals import CONFIDENCE
from assay.stats.paired import student_difference
from assay.stats.signed_rank import signed_rank_test

CHANCE = "chance"

Numbers = npt.NDArray[np.float64]
Place = tuple[str, str]  # family, canvas


@dataclass(frozen=True)
class Judged:
    """The values of one method by one family of metrics under one canvas; higher is better, chance is 0."""

    method: str
    family: str  # order, size
    canvas: str
    values: Sequence[float | None]  # one for each row, None where undefined; empty if the method was skipped
    circular: str = ""  # a reason: this cell is shown and decides nothing


@dataclass(frozen=True)
class Lead:
    """The mean of one method minus another or a control, on the rows in which both have a value."""

    over: str
    rows: int
    mean: float
    low: float | None  # 95 % interval, Student's t; None for a single row
    high: float | None
    upper: float | None  # one-sided 95 % limit
    p: float  # one-sided, not corrected


def lead(left: Numbers, right: Numbers, over: str) -> Lead | None:
    """None without a common row."""
    both = np.isfinite(left) & np.isfinite(right)
    left, right = left[both], right[both]
    if not len(left):
        return None
    p = signed_rank_test(left, right, "greater").p
    if len(left) == 1:
        return Lead(over, 1, float(left[0] - right[0]), None, None, None, p)
    two_sided = student_difference(left, right, CONFIDENCE)
    upper = student_difference(left, right, 2 * CONFIDENCE - 1).high
    return Lead(over, len(left), two_sided.mean, two_sided.low, two_sided.high, upper, p)


@dataclass(frozen=True)
class Table:
    """The values of all methods and controls, NaN where undefined: by family and canvas, then by method."""

    values: Mapping[Place, Mapping[str, Numbers]]
    circular: Mapping[tuple[str, Place], str]  # reasons, by method and place
    controls: tuple[str, ...]
    rows: int

    @classmethod
    def of(cls, judged: Sequence[Judged], controls: Sequence[str]) -> Table:
        rows = max((len(cell.values) for cell in judged), default=0)
        values: dict[Place, dict[str, Numbers]] = {}
        circular: dict[tuple[str, Place], str] = {}
        for cell in sorted(judged, key=lambda cell: (cell.family, cell.canvas, cell.method)):
            place, named = (cell.family, cell.canvas), f"'{cell.method}' by {cell.family} under {cell.canvas}"
            if (cell.method, place) in circular:
                raise AssayError(f"{named} is given twice. Give one cell for each method, family and canvas.")
            if len(cell.values) not in (0, rows):
                raise AssayError(f"{named} has {len(cell.values)} values, others {rows}. All cells have the same rows.")
            numbers = [math.nan if value is None else value for value in cell.values or [None] * rows]
            values.setdefault(place, {})[cell.method] = np.array(numbers, np.float64)
            circular[cell.method, place] = cell.circular
        return cls(values, circular, tuple(sorted(set(controls))), rows)

    def take(self, rows: Sequence[int]) -> Table:
        taken = {place: {name: row[rows] for name, row in here.items()} for place, here in self.values.items()}
        return replace(self, values=taken, rows=len(rows))

    @cached_property
    def methods(self) -> list[str]:
        """Without controls."""
        return sorted({name for here in self.values.values() for name in here} - set(self.controls))

    def places(self, method: str) -> list[Place]:
        """Where the method was judged or skipped."""
        return [place for place, here in self.values.items() if method in here]

    def count(self, method: str, place: Place) -> int:
        """Rows with a value."""
        return int(np.isfinite(self.values[place].get(method, np.zeros(0))).sum())

    def mean(self, method: str, place: Place) -> float:
        """Over the rows with a value, of which there are some."""
        values = self.values[place][method]
        return float(values[np.isfinite(values)].mean())

    def decides(self, method: str, place: Place) -> bool:
        return self.count(method, place) > 0 and not self.circular[method, place]

    @cached_property
    def deciding(self) -> list[tuple[str, Place]]:
        """Methods with the places that decide for them."""
        return [(name, place) for name in self.methods for place in self.places(name) if self.decides(name, place)]

    def best(self, place: Place, fewest: int) -> str:
        """The candidate with the highest mean; empty if there is none."""
        return max(self._candidates(place, fewest), key=lambda name: self.mean(name, place), default="")

    def pairs(self, fewest: int) -> int:
        """Each candidate with each other method that decides, in all places: the best is one of them by chance."""
        methods = {place: sum(where == place for _, where in self.deciding) for place in self.values}
        return sum(len(self._candidates(place, fewest)) * (count - 1) for place, count in methods.items())

    def leads(self, method: str, place: Place, fewest: int) -> tuple[Lead, ...]:
        """Over chance, and over each control that has enough rows; none without a value."""
        here = self.values[place]
        controls = {CHANCE: np.zeros(self.rows)} | {name: here[name] for name in self._usable(place, fewest)}
        found = (lead(here[method], values, name) for name, values in controls.items())
        return tuple(one for one in found if one is not None)

    def left_out(self, fewest: int) -> Iterator[str]:
        """Controls that decide nothing, with the place and the reason."""
        for family, canvas in self.values:
            for name in sorted(set(self.controls) - set(self._usable((family, canvas), fewest))):
                rows = self.count(name, (family, canvas))
                yield f"{name} by {family} under {canvas}: {f'{rows} rows of {fewest} needed' if rows else 'no value'}"

    def _candidates(self, place: Place, fewest: int) -> list[str]:
        """Methods that decide on enough rows."""
        return [name for name, where in self.deciding if where == place and self.count(name, place) >= fewest]

    def _usable(self, place: Place, fewest: int) -> list[str]:
        circular = [name for name in self.controls if self.circular.get((name, place))]
        return [name for name in self.controls if name not in circular and self.count(name, place) >= fewest]
