"""From a spec to the component itself, and back: the one place where component code is imported."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

from assay.core.adapt import CallableMethod, CaptumMethod, QueryMethod, adapt
from assay.core.cards import snake
from assay.core.errors import SpecError
from assay.core.foreign import load
from assay.core.foreign_metrics import ForeignMetric, foreign_metric
from assay.core.numbers import numbers_digest
from assay.core.registry import KINDS, card, catalogue, component_kind, resolve
from assay.core.spec import Spec, Value

WRAPPERS = (CallableMethod, CaptumMethod, QueryMethod, ForeignMetric)


def build(kind: str, spec: Spec) -> Any:
    """The component that a resolved spec describes, with the components inside it."""
    found = card(kind, spec.name)
    known = {param.name: param for param in found.params}
    params = {name: _value(component_kind(kind, known.get(name)), value) for name, value in spec.params}
    target = load(found.target)
    return target(**params) if found.ours else adapt(kind, spec.name, target, params)


def _value(kind: str, value: Value) -> Any:
    if isinstance(value, Spec):
        return build(kind, value)
    return tuple(_value(kind, item) for item in value) if isinstance(value, tuple) else value


def named(kind: str, given: Any, params: Mapping[str, Value] = MappingProxyType({})) -> tuple[Any, str]:
    """A component from its spec, or as it was made by hand, and what it is called; somebody else's metric adapted."""
    if not isinstance(given, str):
        name = getattr(given, "__name__", type(given).__name__)
        if isinstance(given, type):
            return adapt(kind, name, given, {}), name
        return (kind == "metrics" and foreign_metric(name, given, {})) or given, name
    spec = Spec.parse(given).replace(**params)
    return build(kind, resolve(kind, spec)), str(spec)


def method_named(given: Any) -> tuple[Any, str]:
    """The same for methods, which may also be a Captum class or a plain callable."""
    if isinstance(given, type) or not (isinstance(given, str) or is_dataclass(given)):
        name = getattr(given, "__name__", type(given).__name__)
        return adapt("methods", name, given, {}), name
    return named("methods", given)


def describe(component: Any) -> Spec:
    """The resolved spec of a component that was made by hand: the inverse of ``build``. What somebody else's code is
    wrapped in is left out, so that it has the name it has in a study."""
    if isinstance(component, WRAPPERS):
        return Spec.of(_qualified(component.wrapped), **{key: _described(v) for key, v in component.params.items()})
    cls = type(component)
    name = snake(cls.__name__)
    kind = next((kind for kind in KINDS if cls.__module__ == f"assay.{kind}.{name}"), None)
    values = {field.name: getattr(component, field.name) for field in fields(component)} if is_dataclass(cls) else {}
    known = kind is not None and name in catalogue(kind)
    spec = Spec.of(
        name if known else _qualified(component),
        **{key: _described(value) for key, value in values.items()},
    )
    if kind is not None:
        with suppress(SpecError):
            return resolve(kind, spec)  # whole numbers become floats where floats belong
    return spec


def is_ours(component: Any) -> bool:
    """Whether a component, and whatever is inside it, is of this package; somebody else's gets copies to work on."""
    if isinstance(component, WRAPPERS) or not type(component).__module__.startswith("assay."):
        return False
    inside = (getattr(component, field.name) for field in fields(component)) if is_dataclass(component) else ()
    parts = (part for value in inside for part in (value if isinstance(value, tuple) else (value,)))
    return all(is_ours(part) for part in parts if is_dataclass(part) or callable(part))


def _described(value: Any) -> Value:
    """A parameter's value as text or number, the same in every process: never by where an object lies in memory."""
    if isinstance(value, tuple | list):
        return tuple(_described(item) for item in value)
    if isinstance(value, Mapping):
        return tuple((str(key), _described(item)) for key, item in value.items())
    if value is None or isinstance(value, bool | int | float | str | Spec):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return describe(value)
    return numbers_digest(value) or Spec(_qualified(value))  # a function as a study writes it, without quotes


def _qualified(thing: Any) -> str:
    """``module:name`` of a function or a class; of anything else, of its class."""
    thing = thing.func if isinstance(thing, partial) else thing
    named = thing if hasattr(thing, "__qualname__") else type(thing)
    return f"{named.__module__}:{named.__qualname__}"
