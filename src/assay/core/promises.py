"""What a metric promises with the parameters that it has."""

from __future__ import annotations

from typing import Any


def keeps(metric: Any, promise: str) -> bool:
    """Whether a promise holds with the parameters that a metric has: its ``varies`` names those that cost one."""
    lost = {kind for name, value, kind in getattr(metric, "varies", ()) if getattr(metric, name) == value}
    return promise not in lost


def promised_range(metric: Any) -> tuple[float, float] | None:
    """The ends between which a metric's values lie; None where it promises none, or not with these parameters."""
    found = getattr(metric, "range", getattr(metric, "facts", {}).get("range"))
    if not keeps(metric, "range") or not isinstance(found, tuple | list) or len(found) != 2:
        return None
    if not all(isinstance(end, int | float) for end in found) or not found[0] < found[1]:
        return None
    return float(found[0]), float(found[1])
