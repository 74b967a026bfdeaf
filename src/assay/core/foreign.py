"""Components from outside the catalogue: ``module:attr``, found and read, imported only where reading is not enough."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import MISSING, fields, is_dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from assay.core.cards import COMPUTED, REQUIRED, Card, Param, read_file
from assay.core.declared import declared
from assay.core.errors import SpecError, suggest
from assay.core.numbers import numbers_digest
from assay.core.sources import State, is_installed, source_digest, source_state

_TARGET = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def is_target(value: object) -> bool:
    """Whether a text is written as ``module:attr``."""
    return isinstance(value, str) and _TARGET.fullmatch(value) is not None


def foreign_card(kind: str, target: str, name: str) -> Card:
    """The card of ``module:attr``, from the module's source where the class stands there."""
    path = _source_path(target.partition(":")[0], target)
    return _read(kind, target, name, path, source_state(path))


@cache
def _read(kind: str, target: str, name: str, path: Path, state: State) -> Card:
    """Once per state of its files: every key of every block asks for it."""
    found = _read_or_loaded(kind, target, name, path)
    if kind == "metrics" and name == target and "higher_is_better" not in dict(found.facts):
        with suppress(SpecError):  # who uses it will hear of it; what a catalogue lists is not imported at all
            return replace(found, facts=tuple({**declared(load(target)), **dict(found.facts)}.items()))
    return found


def _read_or_loaded(kind: str, target: str, name: str, path: Path) -> Card:
    module, _, attr = target.partition(":")
    read = read_file(kind, path, module, name, attr) if path.suffix == ".py" else None
    if read is not None:
        return read
    found = load(target)
    # A function, a class that inherits or is re-exported (captum.attr:Saliency): the revision is its own source file's.
    source = _source_digest(found, path)
    if not (inspect.isclass(found) and is_dataclass(found)):
        return Card(kind, name, target, doc=f"{attr} of {module}.", source=source)
    there = read_file(kind, Path(str(inspect.getsourcefile(found))), found.__module__, name, found.__name__)
    if there is not None:
        return there
    calls = tuple(call for call in dir(found) if inspect.isfunction(getattr(found, call)))
    perhaps = tuple(call for call in dir(found) if isinstance(getattr(found, call), property))
    facts = tuple(_facts(found).items())
    return Card(kind, name, target, inspect.getdoc(found) or "", tuple(_params(found)), facts, source, calls, perhaps)


def code_digest(target: str) -> str:
    """Of the source of ``module:attr``, whatever it is."""
    if ":" not in target:
        raise SpecError(f"'{target}' names no code: write module:attr.")
    path = _source_path(target.partition(":")[0], target)
    source = _code_digest(target, path, source_state(path))
    return f"{source} {numbers}" if (numbers := numbers_digest(load(target))) else source


@cache
def _code_digest(target: str, path: Path, _state: State) -> str:
    return _source_digest(load(target), path)


def _facts(cls: type) -> dict[str, Any]:
    """Class variables with plain values, parents first."""
    facts: dict[str, Any] = {}
    for part in reversed(cls.__mro__):
        named = {name for name, kind in vars(part).get("__annotations__", {}).items() if "ClassVar" in str(kind)}
        plain = {
            name: value for name, value in vars(part).items() if isinstance(value, bool | int | float | str | tuple)
        }
        facts |= {name: value for name, value in plain.items() if name in named or name in facts}
    return facts


def _params(cls: type) -> Iterator[Param]:
    for field in fields(cls):  # type: ignore[arg-type]
        annotation = field.type if isinstance(field.type, str) else getattr(field.type, "__name__", "object")
        default = REQUIRED if field.default is MISSING and field.default_factory is MISSING else COMPUTED
        plain = field.default is None or isinstance(field.default, bool | int | float | str)
        yield Param(field.name, annotation, field.default if plain else default)  # type: ignore[arg-type]


def load(target: str) -> Any:
    """Import ``module:attr``; SpecError says why that is not possible."""
    name, _, attr = target.partition(":")
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise SpecError(f"cannot import '{name}' of '{target}': there is no such module on the path.") from None
        raise SpecError(f"cannot import '{name}' of '{target}': it needs '{error.name}', which is missing.") from error
    except Exception as error:
        raise SpecError(f"cannot import '{name}' of '{target}': {type(error).__name__}: {error}") from error
    if not hasattr(module, attr):
        raise SpecError(f"module '{name}' has no '{attr}'.{suggest(attr, dir(module))}")
    return getattr(module, attr)


def _source_path(module: str, target: str) -> Path:
    try:
        found = importlib.util.find_spec(module)
    except (ModuleNotFoundError, ValueError, ImportError):
        found = None
    except Exception as error:
        raise SpecError(f"cannot import '{module}' of '{target}': {type(error).__name__}: {error}") from error
    if module == "__main__":
        raise SpecError(f"'{target}' is in the script that runs: put it in a module, which other processes can import.")
    if found is None and module not in sys.modules:
        raise SpecError(f"cannot find module '{module}' of '{target}'. Run in its folder, or install it.")
    if found is None or found.origin is None or not Path(found.origin).is_file():
        raise SpecError(
            f"module '{module}' of '{target}' has no file of its own on disk, which is needed to know it by."
        )
    return Path(found.origin)


def _source_digest(found: Any, path: Path) -> str:
    """Of the files where a thing and its parents are defined, and of the module that was named: it may have made the
    thing. What an installed module only passes on is known by its own file."""
    found = inspect.unwrap(found.func if isinstance(found, partial) else found)
    parts = found.__mro__ if inspect.isclass(found) else (found,)
    paths = {source for part in parts if (source := _file_of(part))}
    paths |= {path} if not (paths and is_installed(path)) else set()
    return hashlib.sha256("".join(source_digest(part) for part in sorted(paths)).encode()).hexdigest()


def _file_of(found: Any) -> Path | None:
    try:
        source = inspect.getsourcefile(found)
    except (TypeError, OSError):
        return None
    return Path(source) if source else None
