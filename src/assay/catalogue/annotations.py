"""Whether a value fits a parameter's annotation, decided from source text: no component has to be imported."""

from __future__ import annotations

import ast
import sys

from assay.core.spec import Spec, Value

_LARGEST = sys.float_info.max
_KINDS = {"Method": "methods", "Metric": "metrics", "Environment": "environments"}


def annotated_kind(annotation: str) -> str | None:
    """The kind of component that an annotation such as ``tuple[Method, ...]`` asks for; None for plain values."""
    for name, kind in _KINDS.items():
        if name in annotation:
            return kind
    return None


def fits(value: Value, annotation: str) -> bool:
    """True when the value fits the annotation; annotations that are not plain accept every value."""
    return _fits(value, ast.parse(annotation, mode="eval").body)


def as_float(value: Value, annotation: str) -> Value:
    """Whole numbers as floats where the annotation is ``float``, so that ``noise=1`` and ``noise=1.0`` are the same."""
    return _as_float(value, _members(ast.parse(annotation, mode="eval").body))


def _as_float(value: Value, members: list[ast.expr]) -> Value:
    if isinstance(value, tuple):
        return next((_items_as_float(value, node) for node in members if _is_tuple(node) and _fits(value, node)), value)
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    names = [node.id for node in members if isinstance(node, ast.Name)]
    if not is_whole or "int" in names or "float" not in names or not _fits_name(value, "float"):
        return value
    return float(value)  # type: ignore[arg-type]


def _items_as_float(value: tuple[Value, ...], node: ast.expr) -> Value:
    assert isinstance(node, ast.Subscript)
    per_item = _item_annotations(node.slice, len(value))
    return tuple(_as_float(item, _members(annotation)) for item, annotation in zip(value, per_item, strict=True))


def _item_annotations(items: ast.expr, count: int) -> list[ast.expr]:
    """The annotation of each of ``count`` items of a ``tuple[int, str]`` or ``tuple[int, ...]``."""
    listed = items.elts if isinstance(items, ast.Tuple) else [items]
    repeats = isinstance(listed[-1], ast.Constant) and listed[-1].value is ...
    return [listed[0]] * count if repeats else listed


def _is_tuple(node: ast.expr) -> bool:
    return isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == "tuple"


def _members(node: ast.expr) -> list[ast.expr]:
    """The alternatives of a union."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return [*_members(node.left), *_members(node.right)]
    return [node]


def _fits(value: Value, node: ast.expr) -> bool:
    match node:
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _fits(value, left) or _fits(value, right)
        case ast.Constant(value=None):
            return value is None
        case ast.Subscript(value=ast.Name(id="Literal"), slice=options):
            choices = options.elts if isinstance(options, ast.Tuple) else [options]
            return any(_is_choice(choice, value) for choice in choices)
        case ast.Subscript(value=ast.Name(id="tuple"), slice=items):
            return isinstance(value, tuple) and _fits_items(value, items)
        case ast.Name(id=name):
            return _fits_name(value, name)
    return True


def _is_choice(choice: ast.expr, value: Value) -> bool:
    try:
        return _same(ast.literal_eval(choice), value)
    except ValueError:
        return True  # a name, such as a member of an enumeration: the component checks it


def _fits_items(value: tuple[Value, ...], items: ast.expr) -> bool:
    per_item = _item_annotations(items, len(value))
    return len(value) == len(per_item) and all(map(_fits, value, per_item))


def _fits_name(value: Value, name: str) -> bool:
    match name:
        case "int":
            return isinstance(value, int) and not isinstance(value, bool)
        case "float":
            return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _LARGEST
        case "bool":
            return isinstance(value, bool)
        case "str" | "File" | "Folder" | "Code":
            return isinstance(value, str)
        case "tuple":
            return isinstance(value, tuple)
    return isinstance(value, Spec) if name in _KINDS else True


def _same(left: object, right: object) -> bool:
    return type(left) is type(right) and left == right
