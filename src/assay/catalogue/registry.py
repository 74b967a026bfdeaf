"""The registry: cards by name, resolved specs, and what a spec contributes to a key.

Our components are known from a generated file; ``catalogue/build.py`` makes components.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import assay
from assay.catalogue.annotations import annotated_kind, as_float, fits
from assay.catalogue.cards import COMPUTED, REQUIRED, Card, Param, with_controls
from assay.catalogue.cards import KINDS as KINDS
from assay.catalogue.families import described
from assay.catalogue.files import PATHS, NamedPath
from assay.catalogue.foreign_cards import code_digest, foreign_card
from assay.catalogue.hints import HINTS
from assay.catalogue.sources import our_file
from assay.core.errors import AssayError, SpecError, suggest
from assay.core.spec import Spec, Value
from assay.foreign.imports import imports_allowed, is_target


@cache
def catalogue(kind: str) -> Mapping[str, Card]:
    """The cards of every component of a kind: our own, then entry points of group ``assay.<kind>``."""
    cards = {row["name"]: Card.from_json(row) for row in described()[kind]}
    for point in entry_points(group=f"assay.{kind}"):
        if point.name in cards:
            raise AssayError(f"'{point.name}' from {point.value} is already the name of {cards[point.name].target}.")
        cards[point.name] = foreign_card(kind, point.value, point.name)
    return (
        {name: with_controls(card, measured_controls()) for name, card in cards.items()} if kind == "metrics" else cards
    )


def measured_controls() -> Mapping[str, str]:
    """By name or alias of a metric: whether it tells maps without knowledge of the model from the best method. What was
    measured is data: in the source it would change the digest of what was measured."""
    path = Path(assay.__path__[0]) / "metrics" / "controls.json"
    controls: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    return controls


def card(kind: str, name: str) -> Card:
    """The card of a component by name or ``module:attr``; SpecError suggests near misses."""
    if ":" in name:
        found = foreign_card(kind, name, name) if imports_allowed() else Card(kind, name, name)
        return with_controls(found, {}) if kind == "metrics" else found
    cards = catalogue(kind)
    if name in cards:
        return cards[name]
    if name in aliases(kind):
        raise SpecError(f"'{name}' stands for {aliases(kind)[name]}, which has a card.")
    if our_file(f"assay.{kind}.{name}").is_file():
        raise SpecError(f"{kind}/{name}.py defines no {kind[:-1]} '{name}', or is new: run 'make renew'.")
    hint = f" Did you mean '{HINTS[name]}'?" if HINTS.get(name) in cards else suggest(name, [*cards, *aliases(kind)])
    raise SpecError(f"unknown {kind[:-1]} '{name}'.{hint} 'assay ls {kind}' lists them.")


@cache
def aliases(kind: str) -> Mapping[str, Spec]:
    """Further names, each for a component with one parameter set: rows (name, parameter, value) in the ``aliases`` of
    its class."""
    cards, specs = catalogue(kind), dict[str, Spec]()
    for component_card in cards.values():
        for name, parameter, value in component_card.fact("aliases", ()):
            if name in cards or name in specs:
                raise AssayError(
                    f"'{name}', an alias in {component_card.target}, is already the name of something else."
                )
            specs[name] = Spec.of(component_card.name, **{parameter: value})
    return specs


def expand_alias(kind: str, spec: Spec) -> Spec:
    """The spec with an alias replaced by the component and the parameter that it stands for."""
    alias = aliases(kind).get(spec.name)
    if alias is None:
        return spec
    for name, value in alias.params:
        if spec.get(name, value) != value:
            raise SpecError(f"{spec.name} is {alias}: write {alias.name}({name}={spec.get(name)!r}) for the other.")
    return alias.replace(**dict(spec.params))


def resolve(kind: str, spec: Spec) -> Spec:
    """The spec with defaults filled in, aliases expanded and every component inside it resolved; SpecError lists all
    problems."""
    spec = expand_alias(kind, spec)
    component_card = card(kind, spec.name)
    declared = {param.name: param for param in component_card.params}
    if not (declared or component_card.ours):
        declared = {name: Param(name, "object", value) for name, value in spec.params}  # passed on unchecked
    problems = [_unknown(spec, name, declared) for name, _ in spec.params if name not in declared]
    values: dict[str, Value] = {}
    for name, param in declared.items():
        value = spec.get(name, param.default)
        if value == REQUIRED:
            problems.append(f"{spec.name} needs a value for '{name}' ({param.annotation}).")
        elif value != COMPUTED and not fits(value, param.annotation):
            problems.append(_misfit(spec, name, param.annotation, value))
        elif value != COMPUTED:
            try:
                values[name] = _resolve_value(component_kind(kind, param), as_float(value, param.annotation))
            except SpecError as error:
                problems.append(str(error))
    if problems:
        raise SpecError(" ".join(problems))
    return Spec.of(spec.name, **values)


def identity(kind: str, spec: Spec) -> dict[str, Any]:
    """What a resolved spec contributes to a key: names, values and the revision of every component in it."""
    component_card = card(kind, spec.name)
    declared = {param.name: param for param in component_card.params}
    values = {name: _value_identity(kind, declared.get(name), value) for name, value in spec.params}
    if not component_card.ours:
        values |= {name: _code_identity(value) for name, value in spec.params if is_target(value)}
    return {"name": spec.name, "revision": component_card.revision, "params": values}


def named_paths(kind: str, spec: Spec) -> tuple[NamedPath, ...]:
    """The files and folders that a resolved spec names, at every depth."""
    declared = {param.name: param for param in card(kind, spec.name).params}

    def paths_in(param: Param | None, value: Value) -> tuple[NamedPath, ...]:
        if isinstance(value, Spec):
            return named_paths(component_kind(kind, param), value)
        if isinstance(value, tuple):
            return tuple(path for item in value for path in paths_in(param, item))
        path = _named_path(param, value)
        return (path,) if path and value else ()

    return tuple(path for name, value in spec.params for path in paths_in(declared.get(name), value))


def stream_name(kind: str, spec: Spec) -> str:
    """What a resolved spec contributes to random streams: its text, with digests of files in place of their paths. The
    source does not count, so that a new comment changes no number."""
    return str(_with_file_digests(kind, spec))


def _with_file_digests(kind: str, spec: Spec) -> Spec:
    declared: dict[str, Param] = {}
    with suppress(SpecError):  # components typed at a prompt have no card
        declared = {param.name: param for param in card(kind, spec.name).params}

    def content(param: Param | None, value: Value) -> Value:
        if isinstance(value, tuple):
            return tuple(content(param, item) for item in value)
        if isinstance(value, Spec):
            return _with_file_digests(component_kind(kind, param), value)
        path = _named_path(param, value)
        return path.digest if path and value else value

    return spec.replace(**{name: content(declared.get(name), value) for name, value in spec.params})


def _named_path(param: Param | None, value: Value) -> NamedPath | None:
    """The path that a parameter names; None for a parameter that is no path."""
    return NamedPath(str(value), param.annotation) if param is not None and param.annotation in PATHS else None


def component_kind(kind: str, param: Param | None) -> str:
    """The catalogue of specs inside a parameter: that of its annotation, else the enclosing component's."""
    return (annotated_kind(param.annotation) if param else None) or kind


def _unknown(spec: Spec, name: str, declared: Mapping[str, object]) -> str:
    names = ", ".join(declared) or "none"
    return f"{spec.name} has no parameter '{name}'.{suggest(name, declared)} It takes: {names}."


def _misfit(spec: Spec, name: str, annotation: str, value: Value) -> str:
    hint = f" Strings need quotes: {name}='{value}'." if isinstance(value, Spec) else ""
    text = str(value) if isinstance(value, Spec) else repr(value)
    return f"{spec.name}: {name}={text} does not fit {annotation}.{hint}"


def _resolve_value(kind: str, value: Value) -> Value:
    if isinstance(value, Spec):
        return resolve(kind, value)
    return tuple(_resolve_value(kind, item) for item in value) if isinstance(value, tuple) else value


def _value_identity(kind: str, param: Param | None, value: Value) -> Any:
    if path := _named_path(param, value):
        return path.digest
    if param is not None and param.annotation == "Code" and value:
        return _code_identity(value)
    inner = component_kind(kind, param)
    if isinstance(value, Spec):
        return identity(inner, value)
    return [_value_identity(kind, param, item) for item in value] if isinstance(value, tuple) else value


def _code_identity(target: Value) -> dict[str, Any]:
    """The identity of the object that a text ``module:attr`` names: foreign components receive the object itself."""
    return {"code": str(target), "source": code_digest(str(target))}
