"""Facts that a foreign metric declares about itself."""

from __future__ import annotations

from typing import Any

KINDS = {
    "image": {"image", "images"},
    "table": {"tabular", "table", "tables"},
}  # kinds of data, and other packages' words for them


def declared_facts(target: Any) -> dict[str, Any]:
    """Facts from attributes with our names, and from Quantus' ``score_direction`` and ``data_applicability``.

    Only plain values count: on a class, a property has no value.
    """
    names = ("higher_is_better", "ideal", "range", "invariant", "exact_on_linear", "best_on_linear")
    attributes = {name: getattr(target, name) for name in names if hasattr(target, name)}
    plain = {name: tuple(value) if isinstance(value, list) else value for name, value in attributes.items()}
    facts = {name: value for name, value in plain.items() if isinstance(value, bool | int | float | str | tuple)}
    word = _word(getattr(target, "score_direction", ""))
    if word in ("higher", "lower"):
        facts.setdefault("higher_is_better", word == "higher")
    words = {_word(member) for member in _members(getattr(target, "data_applicability", ()))}
    kinds = tuple(kind for kind, synonyms in KINDS.items() if words & synonyms)
    return {**facts, "kinds": kinds} if kinds else facts


def _word(value: Any) -> str:
    """The value of a member of an enumeration, or a text, in lower case."""
    return str(getattr(value, "value", value)).lower()


def _members(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, set | frozenset | list | tuple) else (value,)
