"""The faithfulness test (AttributionLab, eq. 2).

A method is refuted when its measurement falls below gamma in some environment. Passing proves nothing more than that:
the verdict is "refuted by X" or "not refuted", never "faithful".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from assay.stats.ranks import ROUNDING


@dataclass(frozen=True)
class Verdict:
    """What the test says about one method."""

    method: str
    gamma: float
    refuted_by: tuple[str, ...]  # environments, worst first
    tested_in: tuple[str, ...]

    @property
    def refuted(self) -> bool:
        return bool(self.refuted_by)

    def __str__(self) -> str:
        if not self.tested_in:
            return "not tested"
        return f"refuted by {'; '.join(self.refuted_by)}" if self.refuted_by else "not refuted"


def verdict(method: str, values: Mapping[str, float | None], gamma: float) -> Verdict:
    """``values`` is the measurement per environment; None (skipped, failed, undefined) tests nothing. A mean that
    misses gamma by rounding only is not below it."""
    tested = {name: value for name, value in values.items() if value is not None}
    below = sorted((value, name) for name, value in tested.items() if value < gamma - ROUNDING * abs(gamma))
    return Verdict(method, gamma, tuple(name for _, name in below), tuple(tested))
