"""Cards of components ``module:attr`` from outside the catalogue, and digests of their code."""

from __future__ import annotations

import hashlib
import inspect
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from assay.catalogue.cards import Card
from assay.catalogue.describe import describe_class
from assay.catalogue.sources import Stamp, is_installed, source_digest, source_stamp
from assay.core.errors import SpecError
from assay.foreign.declared import declared_facts
from assay.foreign.fingerprint import fingerprint
from assay.foreign.imports import load, source_path


def foreign_card(kind: str, target: str, name: str) -> Card:
    """The card of ``module:attr``."""
    path = source_path(target.partition(":")[0], target)
    return _read(kind, target, name, path, source_stamp(path))


@cache
def _read(kind: str, target: str, name: str, path: Path, _stamp: Stamp) -> Card:
    """Read once per stamp of its files, because every key of every block needs the card."""
    component = load(target)
    # A function, a class that inherits, a re-export (captum.attr:Saliency): the revision is its defining file's.
    digest = _source_digest(component, path)
    module, _, attr = target.partition(":")
    card = Card(kind, name, target, doc=f"{attr} of {module}.", digest=digest)
    if isinstance(component, type):
        card = describe_class(kind, name, target, component, digest)
    facts = declared_facts(component) if kind == "metrics" else {}
    return replace(card, facts=tuple({**facts, **dict(card.facts)}.items()))


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
