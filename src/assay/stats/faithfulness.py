"""The faithfulness test (AttributionLab, eq. 2), with signs and uncertainty (ours).

A method is refuted when a measurement falls below its floor in some environment. Passing proves nothing more than that:
the verdict is "refuted by X", "undecided" or "not refuted", never "faithful".

An environment refutes where the whole interval lies below the floor; where all lie above, nothing is refuted; else the
test is undecided. Where there is no interval to go by (fewer than three draws of the model), and by the paper's rule
(``point``), the value decides, and the verdict says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from assay.core.floors import Check, Rule
from assay.stats.ranks import ROUNDING


@dataclass(frozen=True)
class Measured:
    """What a check found in one environment."""

    environment: str
    check: Check
    value: float
    low: float | None = None
    high: float | None = None
    basis: str = ""  # of the interval, as in stats/intervals.py
    per_seed: tuple[float | None, ...] = ()
    rule: Rule = "interval"

    @property
    def by_value(self) -> bool:
        """Whether the value alone decides though it is uncertain."""
        return self.rule == "point" or self.basis not in ("seeds", "samples", "equal")

    @property
    def outcome(self) -> Literal["below", "above", "open"]:
        low, high = self.value, self.value
        if not self.by_value and self.low is not None and self.high is not None:
            low, high = self.low, self.high
        if _below(high, self.check.floor):
            return "below"
        return "open" if _below(low, self.check.floor) else "above"

    @property
    def draws_below(self) -> tuple[int, int]:
        """In how many draws the value is below the floor, and of how many."""
        known = [value for value in self.per_seed if value is not None]
        return sum(_below(value, self.check.floor) for value in known), len(known)

    def __str__(self) -> str:
        below, draws = self.draws_below
        span = "" if self.by_value or self.low is None or self.high is None else f" [{self.low:.3f}, {self.high:.3f}]"
        share = f", below {self.check.floor:g} in {below} of {draws} draws" if draws > 1 else ""
        return f"{self.check.metric} {self.value:.3f}{span} on {self.environment}{share}"


@dataclass(frozen=True)
class Verdict:
    """What the test says about one method."""

    method: str
    gamma: float
    found: tuple[Measured, ...]  # what is undefined, skipped or failed tests nothing
    positive_only: bool = False  # judged on positive truth alone: the method has no negative values by design

    @property
    def outcome(self) -> str:
        """refuted, undecided, not refuted or not tested."""
        if not self.found:
            return "not tested"
        if self.refuting:
            return "refuted"
        return "undecided" if self.open else "not refuted"

    @property
    def refuting(self) -> tuple[Measured, ...]:
        """Those far below their floor first."""
        below = [one for one in self.found if one.outcome == "below"]
        return tuple(sorted(below, key=lambda one: (one.value - one.check.floor, one.environment)))

    @property
    def open(self) -> tuple[Measured, ...]:
        return tuple(one for one in self.found if one.outcome == "open")

    @property
    def refuted(self) -> bool:
        return bool(self.refuting)

    @property
    def refuted_by(self) -> tuple[str, ...]:
        """Environments, worst first."""
        return tuple(dict.fromkeys(one.environment for one in self.refuting))

    @property
    def tested_in(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(one.environment for one in self.found))

    @property
    def labels(self) -> tuple[str, ...]:
        """How the method was judged, where that is not by intervals on all of the truth."""
        told = ["on positive truth: it has no negative values by design"] if self.positive_only else []
        if any(one.by_value for one in self.found):
            point = all(one.rule == "point" for one in self.found)
            told.append("by the value alone" if point else "by the value alone: fewer than three draws")
        return tuple(told)

    def __str__(self) -> str:
        reasons = {"refuted": self.refuting, "undecided": self.open}.get(self.outcome, ())
        because = f" by {'; '.join(map(str, reasons))}" if self.outcome == "refuted" else ""
        because = f": {'; '.join(map(str, reasons))}" if self.outcome == "undecided" else because
        return f"{self.outcome}{because}" + (f" ({'; '.join(self.labels)})" if self.labels else "")


def checks_for(checks: Sequence[Check], positive_only: bool) -> tuple[Check, ...]:
    """What a method is held to: one without negative values by design is judged on positive truth."""
    positive = tuple(check for check in checks if check.sign == "positive")
    return positive if positive_only and positive else tuple(checks)


def _below(value: float, floor: float) -> bool:
    """A value that misses the floor by rounding only is not below it."""
    return value < floor - ROUNDING * abs(floor)
