"""Cards of components ``module:attr`` from outside the catalogue; imported only where the source is not enough."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import MISSING, fields, is_dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from assay.catalogue.cards import COMPUTED, REQUIRED, Card, Param, read_file
from assay.catalogue.sources import Stamp, is_installed, source_digest, source_stamp
from assay.core.errors import SpecError
from assay.foreign.declared import declared_facts
from assay.foreign.fingerprint import fingerprint
from assay.foreign.imports import load, source_path


def foreign_card(kind: str, target: str, name: str) -> Card:
    """The card of ``module:attr``, from the module's source if it defines the class."""
    path = source_path(target.partition(":")[0], target)
    return _read(kind, target, name, path, source_stamp(path))


@cache
def _read(kind: str, target: str, name: str, path: Path, stamp: Stamp) -> Card:
    """Read once per stamp of its files, because every key of every block needs the card."""
    card = _read_or_load(kind, target, name, path)
    if kind == "metrics" and name == target and "higher_is_better" not in dict(card.facts):
        with suppress(SpecError):  # raised again where it is used; entry points of the catalogue are not imported here
            return replace(card, facts=tuple({**declared_facts(load(target)), **dict(card.facts)}.items()))
    return card


def _read_or_load(kind: str, target: str, name: str, path: Path) -> Card:
    module, _, attr = target.partition(":")
    card = read_file(kind, path, module, name, attr) if path.suffix == ".py" else None
    if card is not None:
        return card
    component = load(target)
    # A function, a class that inherits, a re-export (captum.attr:Saliency): the revision is its defining file's.
    source = _source_digest(component, path)
    if not (inspect.isclass(component) and is_dataclass(component)):
        return Card(kind, name, target, doc=f"{attr} of {module}.", digest=source)
    definition = read_file(
        kind, Path(str(inspect.getsourcefile(component))), component.__module__, name, component.__name__
    )
    if definition is not None:
        return definition
    calls = tuple(call for call in dir(component) if inspect.isfunction(getattr(component, call)))
    properties = tuple(call for call in dir(component) if isinstance(getattr(component, call), property))
    facts = tuple(_facts(component).items())
    return Card(
        kind, name, target, inspect.getdoc(component) or "", tuple(_params(component)), facts, source, calls, properties
    )


def code_digest(target: str) -> str:
    """The digest of the source of ``module:attr``, with the fingerprint of a torch module."""
    if ":" not in target:
        raise SpecError(f"'{target}' names no code: write module:attr.")
    path = source_path(target.partition(":")[0], target)
    source = _code_digest(target, path, source_stamp(path))
    return f"{source} {contents}" if (contents := fingerprint(load(target))) else source


@cache
def _code_digest(target: str, path: Path, _stamp: Stamp) -> str:
    return _source_digest(load(target), path)


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
    for field in fields(cls):  # type: ignore[arg-type]
        annotation = field.type if isinstance(field.type, str) else getattr(field.type, "__name__", "object")
        default = REQUIRED if field.default is MISSING and field.default_factory is MISSING else COMPUTED
        plain = field.default is None or isinstance(field.default, bool | int | float | str)
        yield Param(field.name, annotation, field.default if plain else default)  # type: ignore[arg-type]


def _source_digest(component: Any, path: Path) -> str:
    """The digest of the files that define a component and its parents, and of the module that was named, which may have
    created the component. An installed module that only re-exports the component is left out."""
    component = inspect.unwrap(component.func if isinstance(component, partial) else component)
    definitions = component.__mro__ if inspect.isclass(component) else (component,)
    paths = {source for definition in definitions if (source := _file_of(definition))}
    paths |= {path} if not (paths and is_installed(path)) else set()
    return hashlib.sha256("".join(source_digest(file) for file in sorted(paths)).encode()).hexdigest()


def _file_of(component: Any) -> Path | None:
    try:
        source = inspect.getsourcefile(component)
    except (TypeError, OSError):
        return None
    return Path(source) if source else None
