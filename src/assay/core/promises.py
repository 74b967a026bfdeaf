"""What a component declares about itself, with the parameters that it has.

A class declares facts as literals (``higher_is_better``, ``ideal``, ``range``), which hold for its default parameters.
``varies`` says what the value of a parameter changes in them::

    varies: ClassVar[Varies] = (
        ("order", "lerf", {"higher_is_better": True, "ideal": 1.0}),  # other facts; None: not declared
        ("absolute", True, "shift"),  # a promise that is not kept: an invariance, or one of ``COSTS``
    )
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

Varies: TypeAlias = tuple[tuple[str, object, str | dict[str, object]], ...]

COSTS: Mapping[str, Mapping[str, object]] = {
    "range": {"range": None},
    "exact": {"exact_on_linear": False},
    "direction": {"prefers_truth": False},
}


def facts_with(facts: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of a component whose parameters have these values."""
    found = dict(facts)
    for name, value, change in facts.get("varies", ()):
        if name not in values or values[name] != value:
            continue
        if not isinstance(change, str):
            found |= change
        elif change in COSTS:
            found |= COSTS[change]
        else:
            found["invariant"] = tuple(kind for kind in found.get("invariant", ()) if kind != change)
    return {name: value for name, value in found.items() if value is not None}


def fact(component: Any, name: str, default: Any = None) -> Any:
    """A fact of a component in memory, with the parameters that it has."""
    rows = getattr(component, "varies", ())
    declared = getattr(component, name, getattr(component, "facts", {}).get(name))
    values = {parameter: getattr(component, parameter) for parameter, _, _ in rows}
    return facts_with({name: declared, "varies": rows}, values).get(name, default)


def promised_range(metric: Any) -> tuple[float, float] | None:
    """The ends between which a metric's values lie; None where it promises none, or not with these parameters."""
    found = fact(metric, "range")
    if not isinstance(found, tuple | list) or len(found) != 2:
        return None
    if not all(isinstance(end, int | float) for end in found) or not found[0] < found[1]:
        return None
    return float(found[0]), float(found[1])
