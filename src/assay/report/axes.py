"""Axes: from values to pixels, with round numbers along them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Axis:
    """Values to pixels."""

    low: float
    high: float
    start: float
    stop: float
    log: bool = False

    def __call__(self, value: float) -> float:
        share = self._height(value) / self._height(self.high)
        return round(self.start + share * (self.stop - self.start), 2)

    def _height(self, value: float) -> float:
        return math.log(value / self.low) if self.log else value - self.low

    @property
    def ticks(self) -> list[tuple[float, str]]:
        values = _log_ticks(self.low, self.high) if self.log else nice(self.low, self.high)
        return [(self(value), f"{value:g}") for value in values]


def nice(low: float, high: float, count: int = 5) -> list[float]:
    """About ``count`` round numbers between the ends."""
    raw = (high - low) / count
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= raw * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{index * step:.12g}") for index in range(first, last + 1)]


def _log_ticks(low: float, high: float) -> list[float]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps: Sequence[int] = (1,) if math.log10(high / low) > 2.5 else (1, 2, 5)
    return [value for power in powers for step in steps if low <= (value := step * 10.0**power) <= high]


def widened(low: float, high: float) -> tuple[float, float]:
    """Ends moved out to round numbers; 0 is taken in when it is near."""
    low, high = apart(low, high)
    margin = 0.5 * (high - low)
    low, high = (0.0 if 0 < low < margin else low), (0.0 if -margin < high < 0 else high)
    marks = nice(low, high)
    step = marks[1] - marks[0]
    return math.floor(low / step + 1e-6) * step, math.ceil(high / step - 1e-6) * step


def apart(low: float, high: float) -> tuple[float, float]:
    """Two ends that differ, also when all values are the same."""
    pad = max(abs(low), abs(high), 1e-3) * 0.05
    return (float(low), float(high)) if high - low > 1e-9 * pad else (low - pad, high + pad)
