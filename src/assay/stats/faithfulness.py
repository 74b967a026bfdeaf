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
        share = f", below in {below} of {draws} draws" if draws > 1 else ""
        return f"{self.check.metric} {self.value:.3f}{span}{share}"


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
        return tuple(sorted(below, key=lambda one: (one.value - one.check.floor, one.value, one.environment)))

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
    def by_value(self) -> bool:
        """Whether somewhere the value alone decides though it is uncertain."""
        return any(one.by_value for one in self.found)

    @property
    def label(self) -> str:
        """How the method was judged, where that is not by all of the truth."""
        return "on positive truth: it has no negative values by design" if self.positive_only else ""

    def __str__(self) -> str:
        return self._told(len(self.found))

    def brief(self) -> str:
        """The same with the worst check of each environment alone."""
        return self._told(1)

    def _told(self, most: int) -> str:
        reasons = {"refuted": self.refuting, "undecided": self.open}.get(self.outcome, ())
        places: dict[str, list[str]] = {}
        for one in reasons:
            places.setdefault(one.environment, []).append(str(one))
        told = "; ".join(f"{place} ({_listed(checks, most)})" for place, checks in places.items())
        words = {"refuted": f"refuted by {told}", "undecided": f"undecided: {told}"}.get(self.outcome, self.outcome)
        return f"{words} ({self.label})" if self.label else words


def _listed(checks: Sequence[str], most: int) -> str:
    more = len(checks) - most
    return "; ".join(checks[:most]) + (f" and {more} more" if more > 0 else "")


def checks_for(checks: Sequence[Check], positive_only: bool) -> tuple[Check, ...]:
    """What a method is held to: one without negative values by design is judged on positive truth."""
    positive = tuple(check for check in checks if check.sign == "positive")
    return positive if positive_only and positive else tuple(checks)


def _below(value: float, floor: float) -> bool:
    """A value that misses the floor by rounding only is not below it."""
    return value < floor - ROUNDING * abs(floor)
