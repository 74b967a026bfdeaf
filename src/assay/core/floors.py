"""Floors: what the faithfulness test holds a method to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Rule = Literal["interval", "point"]  # what decides: the whole interval, or the value alone
RULES: tuple[Rule, ...] = ("interval", "point")


@dataclass(frozen=True)
class Check:
    """A floor under one metric."""

    metric: str  # its label
    floor: float
    sign: str = ""  # of the truth it looks at: overall, positive, negative, agreement; empty: it has none

    def to_json(self) -> dict[str, Any]:
        return {"metric": self.metric, "floor": self.floor, "sign": self.sign}
