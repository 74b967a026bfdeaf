"""From a spec to the component itself: the one place where component code is imported."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from assay.core.adapt import adapt
from assay.core.cards import snake
from assay.core.registry import card, load
from assay.core.spec import Spec, Value


def build(kind: str, spec: Spec) -> Any:
    """The component that a resolved spec describes, with the components inside it."""
    target = load(card(kind, spec.name).target)
    params = {name: _value(kind, value) for name, value in spec.params}
    return adapt(kind, spec.name, target, params) if spec.foreign else target(**params)


def describe(component: Any) -> Spec:
    """The resolved spec of a component that was made by hand: the inverse of ``build``."""
    cls = type(component)
    ours = cls.__module__.startswith("assay.")
    name = snake(cls.__name__) if ours else f"{cls.__module__}:{cls.__name__}"
    values = {field.name: getattr(component, field.name) for field in fields(component)} if is_dataclass(cls) else {}
    return Spec.of(name, **{key: _described(value) for key, value in values.items()})


def _described(value: Any) -> Value:
    if isinstance(value, tuple):
        return tuple(_described(item) for item in value)
    return describe(value) if is_dataclass(value) else value


def _value(kind: str, value: Value) -> Any:
    if isinstance(value, Spec):
        return build(kind, value)
    return tuple(_value(kind, item) for item in value) if isinstance(value, tuple) else value
