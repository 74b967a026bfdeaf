"""What somebody else's metric says of itself."""

from __future__ import annotations

from typing import Any

KINDS = {"image": {"image", "images"}, "table": {"tabular", "table", "tables"}}  # of data, as others call them


def declared(target: Any) -> dict[str, Any]:
    """What an object declares, in our words, or by attributes whose values or members are named like them.

    Only plain values count: a class's property is what its instances will say.
    """
    own = ("higher_is_better", "ideal", "range", "invariant", "exact_on_linear", "best_on_linear")
    found = {name: getattr(target, name) for name in own if hasattr(target, name)}
    plain = {name: tuple(value) if isinstance(value, list) else value for name, value in found.items()}
    facts = {name: value for name, value in plain.items() if isinstance(value, bool | int | float | str | tuple)}
    word = _word(getattr(target, "score_direction", ""))
    if word in ("higher", "lower"):
        facts.setdefault("higher_is_better", word == "higher")
    words = {_word(member) for member in _members(getattr(target, "data_applicability", ()))}
    kinds = tuple(kind for kind, known in KINDS.items() if words & known)
    return {**facts, "kinds": kinds} if kinds else facts


def _word(value: Any) -> str:
    """The value of a member of an enumeration, or a text, in small letters."""
    return str(getattr(value, "value", value)).lower()


def _members(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, set | frozenset | list | tuple) else (value,)
