"""Code that runs is code that can be read: a file edited after its import would put old results under a new key."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

from assay.core.errors import SpecError

_first: dict[str, tuple[object, bytes]] = {}  # of each module: the import it came from, and its file when first seen


def as_imported(files: Iterable[Path]) -> None:
    """SpecError where one of these files, if it is imported, is no longer what was imported.

    A module is compared with its file as it was when first seen here; and, as it may have been imported long before
    that, its functions with those that the file has then.
    """
    modules = {file: module for module in list(sys.modules.values()) if (file := _file(module))}
    for path in files:
        module = modules.get(str(path))
        if module is None:
            continue
        content = path.read_bytes()
        where, before = _first.get(module.__name__, (None, b""))
        if not (content == before if where is module.__spec__ else _has(module, content)):
            raise SpecError(
                f"'{path}' has changed since Python imported it, and what would run is the code from before. "
                f"Restart Python, or call importlib.reload on '{module.__name__}' and what imports it."
            )
        _first[module.__name__] = (module.__spec__, content)


def _file(module: ModuleType) -> str | None:
    """Of modules that Python compiled as the file says; test runners and type checkers compile other things."""
    known = getattr(module, "__dict__", {})
    return known.get("__file__") if type(known.get("__loader__")) is SourceFileLoader else None


def _has(module: ModuleType, content: bytes) -> bool:
    """Whether all functions that a module got from its file are in the file."""
    try:
        there = set(_codes(compile(content, str(module.__file__), "exec", dont_inherit=True)))
    except (SyntaxError, ValueError):
        return False
    return all(code in there for code in _functions(module))


def _functions(module: ModuleType) -> Iterator[CodeType]:
    """Code of a module's functions, and of its classes' methods, as far as it comes from the module's file."""
    for value in vars(module).values():
        own = isinstance(value, type) and value.__module__ == module.__name__
        for held in vars(value).values() if own else [value]:
            found = held.fget if isinstance(held, property) else held
            found = found.__func__ if isinstance(found, staticmethod | classmethod) else found
            if isinstance(found, FunctionType) and found.__code__.co_filename == module.__file__:
                yield found.__code__


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A code and all that is defined inside of it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)
