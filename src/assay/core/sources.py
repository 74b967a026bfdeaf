"""The digest of a component's source: its own file and every file of ours below it that it imports.

A change in ``kit``, ``craft`` or ``train`` must not meet results that were computed before it. ``core`` is left out: it
is under everything, so counting it would recompute everything at every step; the revisions contract watches it.
"""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from pathlib import Path

import assay

_ROOT = Path(assay.__path__[0])


def source_digest(path: Path) -> str:
    """sha256 over the file and the files it rests on, in a fixed order."""
    digest = hashlib.sha256()
    for part in [path, *sorted(_below(path) - {path})]:
        digest.update(hashlib.sha256(part.read_bytes()).digest())
    return digest.hexdigest()


def _below(path: Path) -> set[Path]:
    found: set[Path] = set()
    waiting = [path]
    while waiting:
        for part in _imported(waiting.pop()):
            if part not in found:
                found.add(part)
                waiting.append(part)
    return found


@cache
def _imported(path: Path) -> tuple[Path, ...]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {name for node in ast.walk(tree) for name in _names(node) if name.startswith("assay.")}
    kept = sorted(name for name in names if not name.startswith("assay.core"))
    paths = (_ROOT.joinpath(*name.split(".")[1:]).with_suffix(".py") for name in kept)
    return tuple(path for path in paths if path.is_file())


def _names(node: ast.AST) -> list[str]:
    """Modules that an import statement may mean: ``from a.b import c`` is a.b, or a.b.c."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        return [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return []
