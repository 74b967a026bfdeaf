"""Makes components from specs, and specs from components; the only file here that imports component code."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

from assay.catalogue.describe import component_name, own_kind
from assay.catalogue.registry import card, component_kind, resolve
from assay.core.errors import SpecError
from assay.core.spec import Spec, Value
from assay.foreign.adapt import CallableMethod, QueryMethod, adapt, display_name
from assay.foreign.explainers import CaptumMethod
from assay.foreign.fingerprint import fingerprint
from assay.foreign.given import GivenArray, given_array
from assay.foreign.imports import load
from assay.foreign.metrics import ForeignMetric, metric_of
from assay.foreign.shapley import ShapMethod

ADAPTERS = (CallableMethod, CaptumMethod, QueryMethod, ShapMethod, ForeignMetric)


def build(kind: str, spec: Spec) -> Any:
    """The component that a resolved spec describes, with the components inside it."""
    component_card = card(kind, spec.name)
    declared = {param.name: param for param in component_card.params}
    params = {name: _value(component_kind(kind, declared.get(name)), value) for name, value in spec.params}
    target = load(component_card.target)
    return target(**params) if component_card.ours else adapt(kind, spec.name, target, params)


def _value(kind: str, value: Value) -> Any:
    if isinstance(value, Spec):
        return build(kind, value)
    return tuple(_value(kind, item) for item in value) if isinstance(value, tuple) else value


def component_and_name(
    kind: str, component: Any, params: Mapping[str, Value] = MappingProxyType({})
) -> tuple[Any, str]:
    """A component, from its spec or made by hand, and its name; classes and foreign metrics are adapted."""
    if not isinstance(component, str):
        name = display_name(component)
        if isinstance(component, type):
            return adapt(kind, name, component, {}), name
        return (metric_of(name, component) if kind == "metrics" else component), name
    spec = Spec.parse(component).replace(**params)
    return build(kind, resolve(kind, spec)), str(spec)


def method_and_name(method: Any) -> tuple[Any, str]:
    """The same for a method, which may also be an explainer of Captum or shap, a plain callable, or an array."""
    if (given := given_array(method)) is not None:
        return given, "given attributions"
    if isinstance(method, type) or not (isinstance(method, str) or is_dataclass(method)):
        name = display_name(method)
        return adapt("methods", name, method, {}), name
    return component_and_name("methods", method)


def describe(component: Any) -> Spec:
    """The resolved spec of a component that was made by hand: the inverse of ``build``. Adapters of foreign code are
    left out, so that it has the same name as in a study."""
    if isinstance(component, GivenArray):
        return Spec(_qualified_name(component))  # numbers without parameters
    if isinstance(component, ADAPTERS):
        return Spec.of(
            _qualified_name(component.wrapped), **{key: _spec_value(item) for key, item in component.params.items()}
        )
    cls = type(component)
    values = {field.name: getattr(component, field.name) for field in fields(component)} if is_dataclass(cls) else {}
    spec = Spec.of(_qualified_name(component), **{key: _spec_value(value) for key, value in values.items()})
    if kind := own_kind(cls):
        with suppress(SpecError):
            return resolve(kind, spec)  # whole numbers become floats where the annotation is float
    return spec


def is_ours(component: Any) -> bool:
    """Whether a component, with every component inside it, is from this package; foreign code gets input copies."""
    if isinstance(component, ADAPTERS) or not type(component).__module__.startswith("assay."):
        return False
    values = (getattr(component, field.name) for field in fields(component)) if is_dataclass(component) else ()
    parts = (part for value in values for part in (value if isinstance(value, tuple) else (value,)))
    return all(is_ours(part) for part in parts if is_dataclass(part) or callable(part))


def _spec_value(value: Any) -> Value:
    """A parameter's value as text or number, the same in every process: it never depends on memory addresses."""
    if isinstance(value, tuple | list):
        return tuple(_spec_value(item) for item in value)
    if isinstance(value, Mapping):
        return tuple((str(key), _spec_value(item)) for key, item in value.items())
    if value is None or isinstance(value, bool | int | float | str | Spec):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return describe(value)
    return fingerprint(value) or Spec(_qualified_name(value))  # a function, written without quotes as in a study


def _qualified_name(component: Any) -> str:
    """The name of a function or a class; for any other object, of its class."""
    component = component.func if isinstance(component, partial) else component
    return component_name(component if hasattr(component, "__qualname__") else type(component))
