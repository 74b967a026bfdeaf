"""Cards: what a component declares about itself, read from its source without importing it.

The catalogue is the folder: the class ``Occlusion`` in a file of ``methods`` is called ``occlusion``. Reading source
with ``ast`` keeps ``assay ls`` and ``assay run --dry-run`` quick, and reports need no component code.
"""

from __future__ import annotations

import ast
import sys
import tokenize
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from assay.catalogue.annotations import annotated_kind
from assay.catalogue.sources import source_digest
from assay.core.errors import SpecError
from assay.core.facts import facts_with
from assay.core.spec import Spec, Value

REQUIRED = "<required>"
COMPUTED = "<computed>"  # a default that is not a literal: known to the component only, and part of its source digest


@dataclass(frozen=True)
class Param:
    """One hyper-parameter."""

    name: str
    annotation: str
    default: Value  # REQUIRED where there is none, COMPUTED where it is not a literal
    note: str = ""  # the comment on its line

    def to_json(self) -> dict[str, Any]:
        default = str(self.default) if isinstance(self.default, Spec) else self.default
        return {"name": self.name, "type": self.annotation, "default": default, "note": self.note}


@dataclass(frozen=True)
class Card:
    """A component as its source describes it."""

    kind: str  # environments, methods, metrics
    name: str
    target: str  # module:attr
    doc: str = ""
    params: tuple[Param, ...] = ()
    facts: tuple[tuple[str, Any], ...] = ()  # literal class attributes, for default parameters: revision, ideal, paper
    digest: str | Path = ""  # of its source; a file is digested when the digest is asked for
    calls: tuple[str, ...] = ()  # names of its methods, such as fit, probe, train
    properties: tuple[str, ...] = ()  # their names: whether it has them may depend on parameters

    @property
    def summary(self) -> str:
        return self.doc.strip().split("\n", 1)[0]

    @cached_property
    def source(self) -> str:
        """The source digest."""
        return source_digest(self.digest) if isinstance(self.digest, Path) else self.digest

    @property
    def revision(self) -> str:
        """The declared revision, else the start of the source digest."""
        return str(dict(self.facts).get("revision", self.source[:16]))

    @property
    def ours(self) -> bool:
        return self.target.startswith("assay.")

    def fact(self, name: str, default: Any = None) -> Any:
        return dict(self.facts).get(name, default)

    def with_params(self, spec: Spec) -> Card:
        """The card with the facts for these parameters."""
        values = {**{param.name: param.default for param in self.params}, **dict(spec.params)}
        return replace(self, facts=tuple(facts_with(dict(self.facts), values).items()))

    def to_json(self) -> dict[str, Any]:
        return {
            **dict(self.facts),
            "kind": self.kind,
            "name": self.name,
            "target": self.target,
            "summary": self.summary,
            "doc": self.doc,
            "params": [param.to_json() for param in self.params],
            "revision": self.revision,
        }


def with_controls(card: Card, controls: Mapping[str, str]) -> Card:
    """The card of a metric with the fact ``controls``, also where an alias changes it."""
    facts = dict(card.facts)
    alias_of = {(parameter, value): name for name, parameter, value in facts.get("aliases", ())}
    rows = [
        (parameter, value, {**change, "controls": controls.get(alias_of[parameter, value])})
        if (parameter, value) in alias_of and isinstance(change, dict)
        else (parameter, value, change)
        for parameter, value, change in facts.get("varies", ())
    ]
    facts |= {"controls": controls[card.name]} if card.name in controls else {}
    facts |= {"varies": tuple(rows)} if rows else {}
    return replace(card, facts=tuple(facts.items()))


def fact_text(value: Any) -> str:
    """A fact as text; the largest float stands for no bound."""
    if isinstance(value, tuple | list):
        return f"({', '.join(map(fact_text, value))})"
    return "no bound" if isinstance(value, float) and abs(value) == sys.float_info.max else str(value)


def snake(name: str) -> str:
    """``InputXGradient`` -> ``input_x_gradient``."""
    words: list[str] = []
    for letter in name:
        words.append(f"_{letter.lower()}" if letter.isupper() and words else letter.lower())
    return "".join(words)


def read_folder(kind: str, folder: Path, package: str) -> list[Card]:
    """The cards of all components in a folder, by name; files that start with ``_`` hold none."""
    cards = []
    for path in folder.glob("[!_]*.py"):
        classes, lines = _read_classes(path, f"{package}.{path.stem}")
        parts = [node for node in classes if _is_component(node)]
        if not parts:
            raise SpecError(f"{path}: no dataclass with __call__, or with setting for an environment.")
        cards += [_card(kind, path, f"{package}.{path.stem}", snake(node.name), node, lines) for node in parts]
    return sorted(cards, key=lambda card: card.name)


def read_file(kind: str, path: Path, module: str, name: str, attr: str | None = None) -> Card | None:
    """The card of class ``attr`` (default: the class of this name), with the digest of the source as it is now.

    None if the file does not define the class, or if it inherits from another one.
    """
    classes, lines = _read_classes(path, module)
    node = next((node for node in classes if (node.name == attr if attr else snake(node.name) == name)), None)
    if node is None or node.bases:
        return None  # inherited fields are defined elsewhere
    card = _card(kind, path, module, name, node, lines)
    return replace(card, digest=card.source)


def _read_classes(path: Path, module: str) -> tuple[list[ast.ClassDef], list[str]]:
    try:
        body = ast.parse(path.read_bytes()).body
        with tokenize.open(path) as stream:  # decoded as Python does it: byte order mark, coding line
            lines = stream.read().splitlines()
    except SyntaxError as error:
        raise SpecError(f"cannot read module '{module}': {error.msg} in line {error.lineno}.") from None
    except ValueError as error:  # a null byte, an unknown coding
        raise SpecError(f"cannot read module '{module}': {error}.") from None
    return [node for node in body if isinstance(node, ast.ClassDef)], lines


def _is_component(node: ast.ClassDef) -> bool:
    names = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
    return _is_dataclass(node) and not node.name.startswith("_") and bool(names & {"__call__", "setting"})


def _is_dataclass(node: ast.ClassDef) -> bool:
    return any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list)


def _card(kind: str, path: Path, module: str, name: str, node: ast.ClassDef, lines: list[str]) -> Card:
    params, facts = _fields(node, lines)
    functions = [item for item in node.body if isinstance(item, ast.FunctionDef)]
    calls = tuple(item.name for item in functions if not _is_property(item))
    properties = tuple(item.name for item in functions if _is_property(item))
    doc, params = ast.get_docstring(node) or "", params if _is_dataclass(node) else ()
    return Card(kind, name, f"{module}:{node.name}", doc, params, facts, path, calls, properties)


def _is_property(function: ast.FunctionDef) -> bool:
    return any(isinstance(item, ast.Name) and item.id == "property" for item in function.decorator_list)


def _fields(node: ast.ClassDef, lines: list[str]) -> tuple[tuple[Param, ...], tuple[tuple[str, Any], ...]]:
    params: list[Param] = []
    facts: list[tuple[str, Any]] = []
    for item in node.body:
        if not (isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)):
            continue
        annotation = ast.unparse(item.annotation)
        if annotation.partition("[")[0].endswith("ClassVar"):
            with suppress(ValueError):  # non-literal values are left out of the card
                facts.append((item.target.id, ast.literal_eval(item.value)))  # type: ignore[arg-type]
        else:
            default = REQUIRED if item.value is None else _default(item.value, annotation)
            params.append(Param(item.target.id, annotation, default, _comment(lines[item.end_lineno - 1])))  # type: ignore[operator]
    return tuple(params), tuple(facts)


def _default(node: ast.expr, annotation: str) -> Value:
    """A default value: a literal, or the spec of a component such as ``Gradient()``; else COMPUTED."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        arguments = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
        if node.func.id == "field" and "default" in arguments:
            return _default(arguments["default"], annotation)
        if node.args or not annotated_kind(annotation):
            return COMPUTED
        values = {name: _default(value, annotation) for name, value in arguments.items()}
        return COMPUTED if COMPUTED in values.values() else Spec.of(snake(node.func.id), **values)
    try:
        return _frozen(ast.literal_eval(node))
    except ValueError:
        return COMPUTED


def _frozen(value: Any) -> Value:
    return tuple(_frozen(item) for item in value) if isinstance(value, list | tuple) else value


def _comment(line: str) -> str:
    _, mark, note = line.partition("  # ")
    return note.strip() if mark else ""
