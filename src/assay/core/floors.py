"""Floors of the faithfulness test: the values below which a metric refutes a method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Rule = Literal["interval", "point"]  # what is compared with the floor: the whole interval, or the value alone
RULES: tuple[Rule, ...] = ("interval", "point")


@dataclass(frozen=True)
class Check:
    """A metric with its floor."""

    metric: str  # label of the metric
    floor: float
    sign: str = ""  # the metric's sign of the truth: overall, positive, negative, agreement; empty: it has none
