"""What a class declares about itself, as a card: the same for components of this package and of others."""

from __future__ import annotations

import ast
import inspect
import math
import tokenize
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from functools import cached_property
from typing import Any

from assay.catalogue.annotations import annotated_kind
from assay.catalogue.cards import COMPUTED, KINDS, REQUIRED, Card, Param, snake
from assay.core.spec import Spec, Value


def describe_class(kind: str, name: str, target: str, cls: type, digest: str = "") -> Card:
    """The card of a class. A class that is no dataclass has no known parameters."""
    params = tuple(_params(cls)) if is_dataclass(cls) else ()
    members = {member: inspect.getattr_static(cls, member) for member in dir(cls)}
    own = {member: value for member, value in members.items() if member == "__call__" or not member.startswith("_")}
    properties = tuple(member for member, value in own.items() if isinstance(value, property | cached_property))
    calls = tuple(member for member, value in own.items() if inspect.isroutine(value) and member not in properties)
    doc = inspect.cleandoc(cls.__doc__ or "")
    return Card(kind, name, target, doc, params, tuple(_facts(cls).items()), digest, calls, properties)


def own_kind(cls: type) -> str | None:
    """The kind of a component of this package; None for any other class."""
    package, _, module = cls.__module__.rpartition(".")
    is_public = not module.startswith("_") and not cls.__qualname__.startswith("_") and "." not in cls.__qualname__
    return next((kind for kind in KINDS if package == f"assay.{kind}" and is_public), None)


def component_name(definition: Any) -> str:
    """The name of a component of this package, ``module:name`` of any other class or function."""
    if isinstance(definition, type) and own_kind(definition):
        return snake(definition.__name__)
    return f"{definition.__module__}:{definition.__qualname__}"


def _facts(cls: type) -> dict[str, Any]:
    """Class variables with plain values; those of parents come first."""
    facts: dict[str, Any] = {}
    for parent in reversed(cls.__mro__):
        class_variables = {
            name for name, kind in vars(parent).get("__annotations__", {}).items() if "ClassVar" in str(kind)
        }
        plain = {
            name: value for name, value in vars(parent).items() if isinstance(value, bool | int | float | str | tuple)
        }
        facts |= {name: value for name, value in plain.items() if name in class_variables or name in facts}
    return facts


def _params(cls: type) -> Iterator[Param]:
    notes = _notes(cls)
    for field in fields(cls):  # type: ignore[arg-type]
        annotation = field.type if isinstance(field.type, str) else getattr(field.type, "__name__", "object")
        default: Value = REQUIRED if field.default_factory is MISSING else COMPUTED
        if field.default is not MISSING:
            default = _expressed(field.default, annotated_kind(annotation) is not None)
        yield Param(field.name, annotation, default, notes.get(field.name, ""))


def _expressed(value: Any, is_component: bool) -> Value:
    """A default as a spec has it: a plain value, or the spec of a component with what was set."""
    if value is None or type(value) in (bool, int, str) or (type(value) is float and math.isfinite(value)):
        return value  # type: ignore[no-any-return]
    if isinstance(value, tuple):
        items = tuple(_expressed(item, is_component) for item in value)
        return COMPUTED if COMPUTED in items else items
    if not is_component or isinstance(value, type) or not is_dataclass(value) or "<" in type(value).__qualname__:
        return COMPUTED
    changed = {
        field.name: _expressed(setting, annotated_kind(str(field.type)) is not None)
        for field in fields(value)
        if field.init and (setting := getattr(value, field.name)) is not field.default
    }
    return COMPUTED if COMPUTED in changed.values() else Spec.of(component_name(type(value)), **changed)


def _notes(cls: type) -> dict[str, str]:
    """The comments on the lines where fields of a class and of its parents end; only the source has them."""
    notes: dict[str, str] = {}
    for parent in reversed(cls.__mro__):
        try:
            with tokenize.open(str(inspect.getsourcefile(parent))) as stream:  # decoded as Python does it
                text = stream.read()
            body = ast.parse(text).body
        except (OSError, TypeError, SyntaxError):  # built in, typed at a prompt, or changed since
            continue
        lines, classes = text.splitlines(), (node for node in body if isinstance(node, ast.ClassDef))
        for item in (item for node in classes if node.name == parent.__name__ for item in node.body):
            if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
                notes[item.target.id] = lines[(item.end_lineno or 1) - 1].partition("  # ")[2].strip()
    return notes
