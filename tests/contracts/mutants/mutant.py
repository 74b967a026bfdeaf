"""A wrong version of a metric or of a method: the same source with one piece of code replaced."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

import assay

SOURCE = Path(assay.__path__[0]).parent


@dataclass(frozen=True)
class Mutant:
    """A small change of a source file that makes a metric or a method wrong."""

    component: str  # the metric or method
    wrong: str  # what is wrong with it
    module: str  # what is changed: the component, or what it rests on
    place: str  # the definition in the module, such as Road.__call__; empty: the module itself
    old: str  # an expression or whole statements; found by meaning, however the source is formatted
    new: str  # empty: statements are deleted

    def __str__(self) -> str:
        return f"{self.component}: {self.wrong}"


def each(components: tuple[str, ...], wrong: str, module: str, place: str, old: str, new: str) -> list[Mutant]:
    """The same change for several metrics or methods."""
    return [Mutant(name, wrong, module, place, old, new) for name in components]


def path_of(module: str) -> Path:
    return SOURCE / f"{module.replace('.', '/')}.py"


def changed(mutant: Mutant) -> ast.Module:
    """The module with the change made, which must be possible in exactly one place."""
    tree = ast.parse(path_of(mutant.module).read_text(encoding="utf-8"))
    change = _Change(mutant.old, mutant.new)
    change.visit(_definition(tree, mutant))
    assert change.count == 1, f"{mutant}: {change.count} places to change in {mutant.module}:{mutant.place}"
    return ast.fix_missing_locations(tree)


def _definition(tree: ast.Module, mutant: Mutant) -> ast.AST:
    """A function may hold definitions too, but not under an ``if``."""
    found: ast.AST = tree
    for name in mutant.place.split(".") if mutant.place else ():
        named = [node for node in getattr(found, "body", ()) if getattr(node, "name", None) == name]
        assert len(named) == 1, f"{mutant}: {len(named)} definitions {name} in {mutant.module}:{mutant.place}"
        (found,) = named
    return found


class _Change(ast.NodeTransformer):
    """Replaces what is equal to ``old``, and counts. Trees are compared without positions."""

    def __init__(self, old: str, new: str) -> None:
        self.old, self.new = ast.parse(old).body, ast.parse(new).body
        alone = len(self.old) == len(self.new) == 1
        self.expression = alone and isinstance(self.old[0], ast.Expr) and isinstance(self.new[0], ast.Expr)
        self.wanted = _texts([self.old[0].value] if self.expression else self.old)
        self.count = 0

    def visit(self, node: ast.AST) -> ast.AST:
        if self.expression and [ast.dump(node)] == self.wanted:
            self.count += 1
            return self.new[0].value
        self.generic_visit(node)
        if not self.expression:
            self._change_statements(node)
        return node

    def _change_statements(self, node: ast.AST) -> None:
        for name, body in ast.iter_fields(node):
            if not (isinstance(body, list) and body and isinstance(body[0], ast.stmt)):
                continue
            texts, size = _texts(body), len(self.wanted)
            for start in range(len(body) - size, -1, -1):
                if texts[start : start + size] == self.wanted:
                    self.count += 1
                    body[start : start + size] = self.new
            if not body and name == "body":
                body.append(ast.Pass())


def _texts(nodes: list[ast.AST]) -> list[str]:
    return [ast.dump(node) for node in nodes]
