"""Facts: what a component declares about itself, for the values of its parameters.

A class declares facts as literals (``higher_is_better``, ``ideal``, ``range``). They hold for its default parameters.
``varies`` lists the parameter values that change them::

    varies: ClassVar[Varies] = (
        ("order", "lerf", {"higher_is_better": True, "ideal": 1.0}),  # new facts; None: no longer declared
        ("absolute", True, "shift"),  # a promise that no longer holds: an invariance, or one of ``COSTS``
    )
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, TypeAlias

Varies: TypeAlias = tuple[tuple[str, object, str | dict[str, object]], ...]

USERS_ROWS = "own"  # the ``stream_name`` of environments that hold a user's rows

# A promise that no longer holds, and the facts it changes.
COSTS: Mapping[str, Mapping[str, object]] = {
    "range": {"range": None},
    "exact": {"exact_on_linear": False},
    "direction": {"prefers_truth": False},
}


def facts_with(facts: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of a component whose parameters have these values."""
    result = dict(facts)
    for name, value, change in facts.get("varies", ()):
        if name not in values or values[name] != value:
            continue
        if not isinstance(change, str):
            result |= change
        elif change in COSTS:
            result |= COSTS[change]
        else:
            result["invariant"] = tuple(kind for kind in result.get("invariant", ()) if kind != change)
    return {name: value for name, value in result.items() if value is not None}


def fact(component: Any, name: str, default: Any = None) -> Any:
    """A fact of a component object, for the values of its parameters."""
    rows = getattr(component, "varies", ())
    declared = getattr(component, name, getattr(component, "facts", {}).get(name))
    values = {parameter: getattr(component, parameter) for parameter, _, _ in rows}
    return facts_with({name: declared, "varies": rows}, values).get(name, default)


def promised_range(metric: Any) -> tuple[float, float] | None:
    """The lowest and the highest value of a metric; None if it promises no range with its parameters."""
    bounds = fact(metric, "range")
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        return None
    if not all(isinstance(bound, int | float) for bound in bounds) or not bounds[0] < bounds[1]:
        return None
    return float(bounds[0]), float(bounds[1])


def draws_model(environment: Any) -> bool:
    """Whether another seed gives another model: other weights, another rule, another training.

    An environment declares it as ``draws_model``. The default is True, the careful choice.
    """
    return bool(getattr(environment, "draws_model", True))


def draws_rule(environment: Any) -> bool:
    """Whether the seed draws a rule that labels training rows and samples alike, or divides rows into these two
    (``draws_rule``, default False): the model's seed and the seed of its samples must then be equal."""
    return bool(getattr(_innermost(environment, "draws_rule"), "draws_rule", False))


def identities(environment: Any, indices: Sequence[int], seed: int) -> list[Hashable]:
    """Keys that tell samples apart, also across seeds.

    Two data seeds have different samples, unless an environment draws them from a finite set: then its method
    ``identities(indices, seed)`` returns their keys. An environment that wraps another one has the samples of that one.
    """
    inner = _innermost(environment, "identities")
    if hasattr(inner, "identities"):
        return list(inner.identities(indices, seed))
    return [(seed, index) for index in indices]


def data_rows(environment: Any, indices: Sequence[int], seed: int) -> tuple[int, ...]:
    """The rows of a user's data that these samples are: other seeds take the same rows in another order. Empty for
    environments of this package, whose samples have no place in any data of the user's."""
    is_users = getattr(environment, "stream_name", "") == USERS_ROWS
    return tuple(environment.identities(indices, seed)) if is_users else ()


def _innermost(environment: Any, name: str) -> Any:
    """The environment, or the one inside it, that has this attribute; the innermost one if none has it."""
    while not hasattr(environment, name) and getattr(environment, "wraps", False) and hasattr(environment, "of"):
        environment = environment.of
    return environment
