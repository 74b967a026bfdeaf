"""From a spec to the component itself: the one place where component code is imported."""

from __future__ import annotations

from typing import Any

from assay.core.adapt import adapt
from assay.core.registry import card, load
from assay.core.spec import Spec, Value


def build(kind: str, spec: Spec) -> Any:
    """The component that a resolved spec describes, with the components inside it."""
    target = load(card(kind, spec.name).target)
    params = {name: _value(kind, value) for name, value in spec.params}
    return adapt(kind, spec.name, target, params) if spec.foreign else target(**params)


def _value(kind: str, value: Value) -> Any:
    if isinstance(value, Spec):
        return build(kind, value)
    return tuple(_value(kind, item) for item in value) if isinstance(value, tuple) else value
