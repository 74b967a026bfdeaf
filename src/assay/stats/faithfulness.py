"""The faithfulness test (AttributionLab, eq. 2), with signs and uncertainty (ours).

A method is refuted when a measurement falls below its floor in an environment. Passing the test proves nothing more, so
the verdict is "refuted by X", "undecided" or "not refuted", never "faithful".

An environment refutes a method if the whole interval lies below the floor. If all intervals lie above their floors, the
method is not refuted. Otherwise the test is undecided. Without an interval (fewer than three draws of the model), and
by the paper's rule (``point``), the value decides, and the verdict says so.

A floor above the ceiling, the best score of any map that the method can return there, refutes nobody: that check is not
testable. Where no environment has all checks of a method testable, and none refutes it, it is "not testable".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from assay.core.evidence import Score
from assay.core.floors import Check, Rule
from assay.stats.ranks import ROUNDING


@dataclass(frozen=True)
class Measured:
    """The value of one check in one environment."""

    check: Check
    score: Score  # with a value
    rule: Rule = "interval"
    grid: str = ""  # what the method's maps are made of; empty: features

    @property
    def environment(self) -> str:
        return self.score.environment

    @property
    def value(self) -> float:
        assert self.score.value is not None
        return self.score.value

    @property
    def by_value(self) -> bool:
        """Whether the value alone decides, although it is uncertain."""
        return self.rule == "point" or self.score.basis not in ("seeds", "samples", "equal")

    @property
    def limits(self) -> tuple[float, float] | None:
        """The interval that decides; None where the value does."""
        score = self.score
        return None if self.by_value or score.low is None or score.high is None else (score.low, score.high)

    @property
    def outcome(self) -> Literal["below", "above", "open", "not testable"]:
        low, high = self.limits or (self.value, self.value)
        if not _below(low, self.check.floor):
            return "above"
        if self.ceiling is not None and _below(self.ceiling, self.check.floor):
            return "not testable"
        return "below" if _below(high, self.check.floor) else "open"

    @property
    def ceiling(self) -> float | None:
        """The best score of any map that the method can return on these samples; None where it is not known."""
        return self.score.ceiling

    @property
    def draws_below(self) -> tuple[int, int]:
        """The number of draws with a value below the floor, and the number of draws with a value."""
        values = [value for value in self.score.per_seed if value is not None]
        return sum(_below(value, self.check.floor) for value in values), len(values)

    def __str__(self) -> str:
        if self.outcome == "not testable":
            return f"{self.check.metric}: the best map{self.grid and f' of its {self.grid}'} scores {self.ceiling:.3f}"
        below, draws = self.draws_below
        interval = "" if self.limits is None else " [{:.3f}, {:.3f}]".format(*self.limits)
        share = f", below in {below} of {draws} draws" if draws > 1 else ""
        return f"{self.check.metric} {self.value:.3f}{interval}{share}"


@dataclass(frozen=True)
class Verdict:
    """What the test says about one method."""

    method: str
    gamma: float
    measured: tuple[Measured, ...]  # without checks that are undefined, skipped or failed
    positive_only: bool = False  # judged on positive truth only: by design, the method has no negative values

    @property
    def outcome(self) -> str:
        """refuted, undecided, not testable, not refuted or not tested."""
        if not self.measured:
            return "not tested"
        if self.refuting:
            return "refuted"
        if self.undecided:
            return "undecided"
        passed = set(self.tested_in) - {measured.environment for measured in self.not_testable}
        return "not refuted" if passed else "not testable"

    def fails(self, strict: bool) -> bool:
        """Whether a test that requires the method fails: where it is refuted; a strict one also where it is undecided
        or not testable."""
        return self.outcome == "refuted" or (strict and self.outcome in ("undecided", "not testable"))

    @property
    def refuting(self) -> tuple[Measured, ...]:
        """Measurements below their floor, the furthest below first."""
        below = [measured for measured in self.measured if measured.outcome == "below"]
        return tuple(
            sorted(
                below,
                key=lambda measured: (measured.value - measured.check.floor, measured.value, measured.environment),
            )
        )

    @property
    def undecided(self) -> tuple[Measured, ...]:
        return tuple(measured for measured in self.measured if measured.outcome == "open")

    @property
    def not_testable(self) -> tuple[Measured, ...]:
        return tuple(measured for measured in self.measured if measured.outcome == "not testable")

    @property
    def ceiling(self) -> float | None:
        """The lowest ceiling of its checks."""
        return min((measured.ceiling for measured in self.measured if measured.ceiling is not None), default=None)

    @property
    def refuted(self) -> bool:
        return bool(self.refuting)

    @property
    def refuted_by(self) -> tuple[str, ...]:
        """Refuting environments, worst first."""
        return tuple(dict.fromkeys(measured.environment for measured in self.refuting))

    @property
    def tested_in(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(measured.environment for measured in self.measured))

    @property
    def by_value(self) -> bool:
        """Whether the value alone decides in at least one check, although it is uncertain."""
        return any(measured.by_value for measured in self.measured)

    @property
    def label(self) -> str:
        """How the method was judged, unless by the whole truth."""
        return "on positive truth: it has no negative values by design" if self.positive_only else ""

    def __str__(self) -> str:
        return self._text(len(self.measured))

    def brief(self) -> str:
        """The verdict with only the worst check of each environment."""
        return self._text(1)

    def _text(self, most: int) -> str:
        texts = {
            "refuted": f"refuted by {_reasons(self.refuting, most)}",
            "undecided": f"undecided: {_reasons(self.undecided, most)}",
            "not testable": "",  # its reasons follow
        }
        parts = [texts.get(self.outcome, self.outcome)]
        if self.not_testable:
            at_this_size = " at this size" if any(measured.grid for measured in self.not_testable) else ""
            parts.append(f"not testable{at_this_size}: {_reasons(self.not_testable, most)}")
        text = "; ".join(filter(None, parts))
        return f"{text} ({self.label})" if self.label else text


def _reasons(reasons: Sequence[Measured], most: int) -> str:
    checks_by_environment: dict[str, list[str]] = {}
    for measured in reasons:
        checks_by_environment.setdefault(measured.environment, []).append(str(measured))
    return "; ".join(
        f"{environment} ({_listed(checks, most)})" for environment, checks in checks_by_environment.items()
    )


def _listed(checks: Sequence[str], most: int) -> str:
    more = len(checks) - most
    return "; ".join(checks[:most]) + (f" and {more} more" if more > 0 else "")


def checks_for(checks: Sequence[Check], positive_only: bool) -> tuple[Check, ...]:
    """The checks for a method: one without negative values by design is judged on positive truth."""
    positive = tuple(check for check in checks if check.sign == "positive")
    return positive if positive_only and positive else tuple(checks)


def _below(value: float, floor: float) -> bool:
    """A value that misses the floor by rounding only is not below it."""
    return value < floor - ROUNDING * abs(floor)
