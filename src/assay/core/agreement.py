"""Does a module in memory agree with a text? For a file that may have been edited between its import and now."""

from __future__ import annotations

import ast
import inspect
from collections import ChainMap, Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from types import CodeType, FunctionType, ModuleType
from typing import Any

_PLAIN = (bool, int, float, str, bytes, tuple, type(None))


def agrees(module: ModuleType, content: bytes) -> bool:
    """Whether what a module has of its file is in the file: functions, and constants that are written there once."""
    try:
        tree = ast.parse(content)
        code = compile(content, str(module.__file__), "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    there, names = set(map(_said, _codes(code))), set(code.co_names)
    kept = {name: value for name, value in vars(module).items() if name in names}  # a reload leaves others behind
    functions = list(_functions(kept, module))
    defaults = _defaults(tree)
    return (
        all(_said(function.__code__) in there for function in functions)
        and all(_has_defaults(function, defaults.get(function.__qualname__, ())) for function in functions)
        and _constants_agree(tree, vars(module), _elsewhere(tree))
    )


def _functions(values: Mapping[str, object], module: ModuleType) -> Iterator[FunctionType]:
    """A module's functions and its classes' methods, without decorations, as far as they come from its file."""
    for value in values.values():
        if isinstance(value, type) and value.__module__ == module.__name__:
            inner = {name: held for name, held in vars(value).items() if held is not value}
            yield from _functions(inner, module) if _is_new(value, values) else ()
        for held in (value.fget, value.fset) if isinstance(value, property) else (value,):
            found = getattr(held, "__func__", None)
            with suppress(ValueError):  # what is wrapped in circles
                found = inspect.unwrap(held) if callable(held) else found
            if isinstance(found, FunctionType) and found.__code__.co_filename == module.__file__:
                yield found


def _is_new(value: type, values: Mapping[str, object]) -> bool:
    """Whether a class stands where it was defined: one that is only mentioned there would lead in circles."""
    return values.get(value.__name__) is value


def _defaults(tree: ast.AST, within: str = "") -> dict[str, tuple[ast.expr | None, ...]]:
    """By qualified name: the default values of functions and methods, as written; none of what is defined twice."""
    found: dict[str, tuple[ast.expr | None, ...]] = {}
    names = Counter(node.name for node in _scope(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef))
    for node in _scope(tree):
        if isinstance(node, ast.FunctionDef) and names[node.name] == 1:
            found[within + node.name] = (*node.args.defaults, *node.args.kw_defaults)
        elif isinstance(node, ast.ClassDef) and names[node.name] == 1:
            found |= _defaults(node, f"{within}{node.name}.")
    return found


def _has_defaults(function: FunctionType, written: tuple[ast.expr | None, ...]) -> bool:
    keywords = function.__kwdefaults__ or {}
    named = function.__code__.co_varnames[function.__code__.co_argcount :][: function.__code__.co_kwonlyargcount]
    held = (*(function.__defaults__ or ()), *(keywords.get(name) for name in named))
    return not written or (len(held) == len(written) and all(map(_is, held, written)))


def _is(held: object, written: ast.expr | None) -> bool:
    """Whether a value in memory is the one in the text, as far as the text is a literal."""
    if written is None or type(held) not in _PLAIN:
        return True
    with suppress(ValueError, TypeError, SyntaxError, MemoryError):
        value = ast.literal_eval(written)
        return type(value) not in _PLAIN or _constant(value) == _constant(held)
    return True


def _constants_agree(tree: ast.AST, values: Mapping[str, object], elsewhere: set[str]) -> bool:
    """Plain values, here and in classes, are the ones in memory, where nothing else in the file binds the name; so are
    the names of functions."""
    bindings = _bindings(tree)
    for node in getattr(tree, "body", []):
        unknown = isinstance(node, ast.FunctionDef) and bindings[node.name] == 1 and node.name not in values
        if unknown and not node.name.startswith("__"):  # private ones have other names
            return False
        for name in _targets(node):
            sure = name in values and bindings[name] == 1 and name not in elsewhere and not bindings["*"]
            if sure and not _is(values[name], node.value):
                return False
    classes = [
        node for node in getattr(tree, "body", []) if isinstance(node, ast.ClassDef) and bindings[node.name] == 1
    ]
    pairs = [(node, held) for node in classes if isinstance(held := values.get(node.name), type)]
    return all(
        _fields_agree(node, held) and _constants_agree(node, ChainMap(*map(dict, map(vars, held.__mro__))), elsewhere)
        for node, held in pairs
    )


def _fields_agree(node: ast.ClassDef, held: type) -> bool:
    """Whether a class has the annotated names of its text; one that something else had a hand in may have others."""
    has = {name for name in vars(held).get("__annotations__", {}) if not name.startswith("_")}
    text = {name for part in node.body if isinstance(part, ast.AnnAssign) for name in _targets(part)}
    perhaps = {name for part in ast.walk(node) if isinstance(part, ast.AnnAssign) for name in _targets(part)}
    plain = (
        type(held) is type and not node.bases and all("dataclass" in ast.unparse(one) for one in node.decorator_list)
    )
    return not plain or not has or {name for name in text if not name.startswith("_")} <= has <= perhaps


def _targets(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    return [node.target.id] if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) else []


def _scope(tree: ast.AST) -> Iterator[ast.AST]:
    """What runs when a module or a class is made: its statements and what is in them, but no function's inside."""
    waiting = list(ast.iter_child_nodes(tree))
    while waiting:
        yield (node := waiting.pop())
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)


def _bindings(tree: ast.AST) -> Counter[str]:
    """How often a module or a class binds each name in its own scope: ``x = 1``, ``x += 1``, ``import x``."""
    found: Counter[str] = Counter()
    for node in _scope(tree):
        match node:
            case ast.Name(ctx=ast.Store() | ast.Del()):
                found[node.id] += 1
            case ast.alias():
                found[node.asname or node.name.partition(".")[0]] += 1
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                found[node.name] += 1
            case ast.ExceptHandler(name=str()) | ast.MatchAs(name=str()) | ast.MatchStar(name=str()):
                found[str(node.name)] += 1
    return found


def _elsewhere(tree: ast.AST) -> set[str]:
    """Names that functions bind outside of themselves: ``global x``, ``A.x = 1``; ``self.x`` is an instance's."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Global():
                found |= set(node.names)
            case ast.Attribute(value=ast.Name(id="self")):
                pass
            case ast.Attribute(ctx=ast.Store() | ast.Del()):
                found.add(node.attr)
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
    names = (code.co_qualname, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return (*names, *counts, code.co_code, constants)


def _constant(value: object) -> tuple[Any, ...]:
    """1, 1.0 and True are equal and say different things."""
    if isinstance(value, tuple | frozenset):
        return (type(value), type(value)(map(_constant, value)))
    return (type(value), repr(value))
