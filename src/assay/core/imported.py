"""Code that runs is code that can be read: a file edited after its import would put old results under a new key."""

from __future__ import annotations

import ast
import inspect
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

from assay.core.errors import SpecError

_first: dict[str, tuple[object, bytes]] = {}  # of each module: the import it came from, and its file when first seen
_PLAIN = (bool, int, float, str, bytes, type(None))


def as_imported(files: Iterable[Path]) -> None:
    """SpecError where one of these files, if it is imported, is no longer what was imported.

    A module is compared with its file as it was when first seen here; and, as it may have been imported long before
    that, its functions and plain constants with those that the file has then.
    """
    modules = {file: module for module in list(sys.modules.values()) if (file := _file(module))}
    for path in files:
        module = modules.get(os.path.abspath(path))
        if module is None or not path.is_file():
            continue
        content = path.read_bytes()
        where, before = _first.get(module.__name__, (module, b""))  # no module is the import of one
        if not (content == before if where is module.__spec__ else _agrees(module, content)):
            raise SpecError(
                f"'{path}' has changed since Python imported it, and what would run is the code from before. "
                f"Restart Python, or call importlib.reload on '{module.__name__}' and what imports it."
            )
        _first[module.__name__] = (module.__spec__, content)


def _file(module: ModuleType) -> str | None:
    """Of modules that Python compiled as the file says; test runners and type checkers compile other things."""
    known = getattr(module, "__dict__", {})
    own = type(known.get("__loader__")) is SourceFileLoader and isinstance(known.get("__file__"), str)
    return os.path.abspath(known["__file__"]) if own else None


def _agrees(module: ModuleType, content: bytes) -> bool:
    """Whether what a module has of its file is in the file: functions, and constants that are written there once."""
    try:
        tree = ast.parse(content)
        code = compile(content, str(module.__file__), "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    there, names = set(_codes(code)), set(code.co_names)
    kept = {name: value for name, value in vars(module).items() if name in names}  # a reload leaves others behind
    functions = (function.__code__ for function in _functions(kept, module))
    return all(function in there for function in functions) and _constants_agree(tree, vars(module))


def _functions(values: Mapping[str, object], module: ModuleType) -> Iterator[FunctionType]:
    """A module's functions and its classes' methods, without decorations, as far as they come from its file."""
    for value in values.values():
        if isinstance(value, type) and value.__module__ == module.__name__:
            inner = {name: held for name, held in vars(value).items() if held is not value}
            yield from _functions(inner, module) if _is_new(value, values) else ()
        for held in (value.fget, value.fset) if isinstance(value, property) else (value,):
            found = inspect.unwrap(held) if callable(held) else getattr(held, "__func__", None)
            if isinstance(found, FunctionType) and found.__code__.co_filename == module.__file__:
                yield found


def _is_new(value: type, values: Mapping[str, object]) -> bool:
    """Whether a class stands where it was defined: one that is only mentioned there would lead in circles."""
    return values.get(value.__name__) is value


def _constants_agree(tree: ast.AST, values: Mapping[str, object]) -> bool:
    """Plain values that the file assigns to a name once, here and in classes, are the ones in memory."""
    body = getattr(tree, "body", [])
    written = [(target, node.value) for node in body for target in _targets(node)]
    names = [name for name, _ in written]
    for name, value in written:
        if isinstance(value, ast.Constant) and names.count(name) == 1 and name in values:
            held = values[name]
            if isinstance(held, _PLAIN) and (type(held), held) != (type(value.value), value.value):
                return False
    classes = [node for node in body if isinstance(node, ast.ClassDef) and isinstance(values.get(node.name), type)]
    return all(_constants_agree(node, vars(values[node.name])) for node in classes)


def _targets(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    return [node.target.id] if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) else []


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A code and all that is defined inside of it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)
