"""Code that runs is code that can be read: a file edited after its import would put old results under a new key."""

from __future__ import annotations

import ast
import inspect
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import psutil

from assay.core.errors import SpecError

_first: dict[str, tuple[object, bytes]] = {}  # of each module: the import it came from, and its file when first seen
_PLAIN = (bool, int, float, str, bytes, type(None))


def as_imported(files: Iterable[Path]) -> None:
    """SpecError where one of these files, if it is imported, is no longer what was imported.

    A file that is older than the process is what was imported. Others are compared with what they were when first seen
    here; and, as they may have been imported long before that, their functions and plain constants with those that the
    file has then. Comments and empty lines count for nothing.
    """
    modules = {file: module for module in list(sys.modules.values()) if (file := _file(module))}
    for path in files:
        module = modules.get(os.path.abspath(path))
        if module is None or not path.is_file():
            continue
        content = path.read_bytes()
        where, before = _first.get(module.__name__, (module, b""))  # no module is the import of one
        known = where is module.__spec__
        if not (_same(content, before) if known else _older(path) or _agrees(module, content)):
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


def _older(path: Path) -> bool:
    """Whether nothing was done to a file since this process began, nor in the two seconds before."""
    found = path.stat()
    return max(found.st_ctime, found.st_mtime) < _began() - 2


@cache
def _began() -> float:
    """When this process began, in seconds since 1970."""
    return float(psutil.Process().create_time())


def _same(content: bytes, before: bytes) -> bool:
    """Whether two sources say the same to Python."""
    with suppress(SyntaxError, ValueError):
        return content == before or ast.dump(ast.parse(content)) == ast.dump(ast.parse(before))
    return False


def _agrees(module: ModuleType, content: bytes) -> bool:
    """Whether what a module has of its file is in the file: functions, and constants that are written there once."""
    try:
        tree = ast.parse(content)
        code = compile(content, str(module.__file__), "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    there, names = set(map(_said, _codes(code))), set(code.co_names)
    kept = {name: value for name, value in vars(module).items() if name in names}  # a reload leaves others behind
    functions = (_said(function.__code__) for function in _functions(kept, module))
    return all(function in there for function in functions) and _constants_agree(tree, vars(module), _bindings(tree))


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


def _constants_agree(tree: ast.AST, values: Mapping[str, object], bindings: Counter[str]) -> bool:
    """Plain values, here and in classes, are the ones in memory, where nothing else in the file binds the name."""
    if bindings["*"]:
        return True
    body = getattr(tree, "body", [])
    for name, value in ((target, node.value) for node in body for target in _targets(node)):
        if isinstance(value, ast.Constant) and bindings[name] == 1 and type(values.get(name, ...)) in _PLAIN:
            held = values[name]
            if (type(held), held) != (type(value.value), value.value):
                return False
    classes = [node for node in body if isinstance(node, ast.ClassDef) and bindings[node.name] == 1]
    pairs = [(node, held) for node in classes if isinstance(held := values.get(node.name), type)]
    return all(_fields_agree(node, held) and _constants_agree(node, vars(held), bindings) for node, held in pairs)


def _fields_agree(node: ast.ClassDef, held: type) -> bool:
    """Whether a class has the annotated names of its text; another kind of class (an enum) may do as it likes."""
    has = set(vars(held).get("__annotations__", {}))
    sure = {name for part in node.body if isinstance(part, ast.AnnAssign) for name in _targets(part)}
    perhaps = {name for part in ast.walk(node) if isinstance(part, ast.AnnAssign) for name in _targets(part)}
    return type(held) is not type or not has or sure <= has <= perhaps


def _targets(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    return [node.target.id] if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) else []


def _bindings(tree: ast.AST) -> Counter[str]:
    """How often a file binds each name, wherever: ``x = 1``, ``x += 1``, ``A.x = 1``, ``import x``; not ``self.x``."""
    found: Counter[str] = Counter()
    for node in ast.walk(tree):
        match node:
            case ast.Name(ctx=ast.Store() | ast.Del()):
                found[node.id] += 1
            case ast.Attribute(value=ast.Name(id="self")):
                pass
            case ast.Attribute(ctx=ast.Store() | ast.Del()):
                found[node.attr] += 1
            case ast.alias():
                found[node.asname or node.name.partition(".")[0]] += 1
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                found[node.name] += 1
    return found


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A code and all that is defined inside of it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _said(code: CodeType) -> tuple[Any, ...]:
    """What a code does, wherever in its file it stands."""
    constants = tuple(_said(part) if isinstance(part, CodeType) else _constant(part) for part in code.co_consts)
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    names = (code.co_name, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return (*names, *counts, code.co_code, constants)


def _constant(value: object) -> tuple[Any, ...]:
    """1, 1.0 and True are equal and say different things."""
    if isinstance(value, tuple | frozenset):
        return (type(value), type(value)(map(_constant, value)))
    return (type(value), repr(value))
