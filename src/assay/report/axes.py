"""Axes of charts: they map values to pixels and have ticks at round numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Axis:
    """A linear or logarithmic map from [low, high] to pixels from ``start`` to ``stop``."""

    low: float
    high: float
    start: float
    stop: float
    log: bool = False

    def __call__(self, value: float) -> float:
        fraction = self._offset(value) / self._offset(self.high)
        return round(self.start + fraction * (self.stop - self.start), 2)

    def _offset(self, value: float) -> float:
        return math.log(value / self.low) if self.log else value - self.low

    @property
    def ticks(self) -> list[tuple[float, str]]:
        values = _log_ticks(self.low, self.high) if self.log else round_ticks(self.low, self.high)
        return [(self(value), f"{value:g}") for value in values]


def round_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """About ``count`` round numbers between ``low`` and ``high``."""
    raw_step = (high - low) / count
    power = 10.0 ** math.floor(math.log10(raw_step))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= raw_step * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{index * step:.12g}") for index in range(first, last + 1)]


def _log_ticks(low: float, high: float) -> list[float]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps: Sequence[int] = (1,) if math.log10(high / low) > 2.5 else (1, 2, 5)
    return [value for power in powers for step in steps if low <= (value := step * 10.0**power) <= high]


def round_ends(low: float, high: float) -> tuple[float, float]:
    """The ends of an axis, moved outwards to round numbers; 0 is included when it is near."""
    low, high = distinct_ends(low, high)
    margin = 0.5 * (high - low)
    low, high = (0.0 if 0 < low < margin else low), (0.0 if -margin < high < 0 else high)
    for _ in range(2):  # the longer axis may have a larger step, and its ends are to be ticks
        ticks = round_ticks(low, high)
        step = ticks[1] - ticks[0]
        low, high = math.floor(low / step + 1e-6) * step, math.ceil(high / step - 1e-6) * step
    return low, high


def distinct_ends(low: float, high: float) -> tuple[float, float]:
    """The ends of an axis; moved apart when all values are equal."""
    pad = max(abs(low), abs(high), 1e-3) * 0.05
    return (float(low), float(high)) if high - low > 1e-9 * pad else (low - pad, high + pad)
