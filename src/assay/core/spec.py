"""Specs: the text form of a component and its parameters.

``name(param=value, ...)``, nested where a component takes a component::

    smoothed(of=integrated_gradients(steps=64), samples=20)
    my_pkg.methods:MyMethod(k=3)

Parsed with ``ast``; values are literals or specs. No code is evaluated. Where users list components, a label may come
first: ``mine=precomputed(path='maps.npy')``.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, TypeAlias, Union

from assay.core.errors import SpecError

Value: TypeAlias = Union[None, bool, int, float, str, tuple["Value", ...], "Spec"]

File: TypeAlias = str  # annotates a parameter that is a path: a key holds the digest of the file's content
Folder: TypeAlias = str  # annotates a parameter that is a folder: a key holds the digest of the files in it
Data: TypeAlias = str  # annotates a parameter that is a path of either
Code: TypeAlias = str  # annotates a parameter that is module:attr: a key holds the digest of its source

TRUST = "ASSAY_TRUST"  # environment variable: the saved model that the user trusts, which no study can name
LONGEST = 10_000  # characters of a spec
DEEPEST = 20  # brackets within brackets: deeper ones could not be sent to other processes

_TARGET = re.compile(r"([A-Za-z_][\w.]*):([A-Za-z_]\w*)")
_LABELLED = re.compile(r"\s*([^=:,()\[\]{}'\"]*[^=:,()\[\]{}'\"\s])\s*=(.*)", re.DOTALL)
_STRING = re.compile(r"""('''.*?'''|\"{3}.*?\"{3}|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""", re.DOTALL)


@dataclass(frozen=True)
class Spec:
    """A component's name and the parameters that are set, sorted by name."""

    name: str
    params: tuple[tuple[str, Value], ...] = ()

    @classmethod
    def of(cls, name: str, /, **params: Value) -> Spec:
        return cls(name, tuple(sorted(params.items())))

    @classmethod
    def parse(cls, text: str) -> Spec:
        """Read a spec from text; SpecError says what cannot be read."""
        return _parse(text)

    @property
    def foreign(self) -> bool:
        """True for ``module:attr``, a component from outside the catalogue."""
        return ":" in self.name

    def get(self, name: str, default: Value = None) -> Value:
        return dict(self.params).get(name, default)

    def replace(self, /, **params: Value) -> Spec:
        return Spec.of(self.name, **{**dict(self.params), **params})

    def has(self, parameter: str) -> bool:
        """Whether this parameter is set; ``of.steps`` is one of the component inside ``of``."""
        name, _, inner = parameter.partition(".")
        value = self.get(name)
        return (isinstance(value, Spec) and value.has(inner)) if inner else name in dict(self.params)

    def with_value(self, parameter: str, value: Value) -> Spec:
        """The spec with another value of a parameter that it ``has``."""
        name, _, inner = parameter.partition(".")
        component = self.get(name)
        return self.replace(
            **{name: component.with_value(inner, value) if isinstance(component, Spec) and inner else value}
        )

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "params": {name: _to_json(value) for name, value in self.params}}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Spec:
        return cls.of(data["name"], **{name: _from_json(value) for name, value in data["params"].items()})

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: object) -> Any:
        """In data that pydantic reads and writes, a spec is its text."""
        from pydantic_core import core_schema

        to_text = core_schema.to_string_ser_schema()
        return core_schema.no_info_after_validator_function(cls.parse, core_schema.str_schema(), serialization=to_text)

    def __str__(self) -> str:
        if not self.params:
            return self.name
        return f"{self.name}({', '.join(f'{name}={_text(value)}' for name, value in self.params)})"


def labelled(text: str) -> tuple[str, str]:
    """``label=spec``: the label, empty without one, and the spec."""
    match = _LABELLED.fullmatch(text)
    return (match[1], match[2]) if match else ("", text)


def _text(value: Value) -> str:
    if isinstance(value, Spec):
        return str(value)
    if isinstance(value, tuple):
        inner = ", ".join(_text(item) for item in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    return repr(value)


def _to_json(value: Value) -> Any:
    if isinstance(value, Spec):
        return value.to_json()
    if isinstance(value, tuple):
        return [_to_json(item) for item in value]
    return value


def _from_json(value: Any) -> Value:
    if isinstance(value, Mapping):
        return Spec.from_json(value)
    if isinstance(value, list):
        return tuple(_from_json(item) for item in value)
    return value  # type: ignore[no-any-return]


def _parse(text: str) -> Spec:
    if len(text) > LONGEST:
        raise SpecError(f"cannot read '{text[:40]}...': a spec has at most {LONGEST} characters.")
    # 'module:attr' is not Python: each one becomes a placeholder name before parsing, outside of string literals.
    targets: dict[str, str] = {}
    prefix = "_target_"
    while prefix in text:
        prefix += "_"

    def hide(match: re.Match[str]) -> str:
        placeholder = f"{prefix}{len(targets)}_"
        targets[placeholder] = match.group(0)
        return placeholder

    pieces = _STRING.split(text.strip())
    if _depth("".join(pieces[::2])) > DEEPEST:
        raise SpecError(f"cannot read '{text[:40]}...': components and lists are nested more than {DEEPEST} deep.")
    source = "".join(piece if index % 2 else _TARGET.sub(hide, piece) for index, piece in enumerate(pieces))
    try:
        value = _value(ast.parse(source, mode="eval").body, targets, text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        excerpt = text if len(text) < 200 else f"{text[:200]}..."
        reason = error.msg if isinstance(error, SyntaxError) else f"{type(error).__name__} {error}"
        raise SpecError(f"cannot read '{excerpt}': {reason}. Write name or name(param=value, ...).") from None
    if not isinstance(value, Spec):
        raise SpecError(f"'{text}' is a value, not a component. Write name or name(param=value, ...).")
    return value


def _depth(text: str) -> int:
    """How deep brackets are nested."""
    return max(accumulate((letter in "([") - (letter in ")]") for letter in text), default=0)


def _value(node: ast.expr, targets: Mapping[str, str], text: str) -> Value:
    match node:
        case ast.Constant(value=value) if value is None or isinstance(value, bool | int | float | str):
            return _checked_literal(value, text)
        case ast.Name(id=name):
            return Spec(targets.get(name, name))
        case ast.Call():
            return _call(node, targets, text)
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return tuple(_value(item, targets, text) for item in items)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=value)) if isinstance(value, int | float):
            return _checked_literal(-value, text)
    raise SpecError(f"cannot read '{text}': only literals and name(param=value) are allowed, nothing is evaluated.")


def _checked_literal(value: Value, text: str) -> Value:
    """The literal; SpecError or ValueError where its text could not be read again, or not be digested."""
    if isinstance(value, int | float) and not abs(value) <= sys.float_info.max:
        raise SpecError(f"cannot read '{text}': a number is too large.")
    if isinstance(value, str):
        value.encode()  # raises UnicodeEncodeError, a ValueError, for a lone surrogate
    return value


def _call(node: ast.Call, targets: Mapping[str, str], text: str) -> Spec:
    if not isinstance(node.func, ast.Name):
        raise SpecError(f"cannot read '{text}': a component is a name or module:attr.")
    name = targets.get(node.func.id, node.func.id)
    if node.args:
        raise SpecError(f"cannot read '{text}': parameters need names, as in {name}(param=value).")
    params: dict[str, Value] = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise SpecError(f"cannot read '{text}': '**' is not allowed.")
        if keyword.arg in params:
            raise SpecError(f"cannot read '{text}': '{keyword.arg}' is given twice.")
        params[keyword.arg] = _value(keyword.value, targets, text)
    return Spec.of(name, **params)


def walk(value: Value, visit: Callable[[Spec], None]) -> None:
    """Visit every spec inside a value, outermost first."""
    if isinstance(value, Spec):
        visit(value)
        for _, inner in value.params:
            walk(inner, visit)
    elif isinstance(value, tuple):
        for item in value:
            walk(item, visit)
