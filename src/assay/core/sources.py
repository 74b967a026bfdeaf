"""The digest of a component's source: its own file and every file of its author's that it imports.

A change in ``kit``, ``craft`` or ``train`` must not meet results that were computed before it. ``core`` is left out: it
is under everything, so counting it would recompute everything at every step; the revisions contract watches it.

Other people's files count as far as they lie on Python's path and are not installed. What is installed changes with its
version only.
"""

from __future__ import annotations

import ast
import hashlib
import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path

import assay

State = tuple[tuple[Path, int, int], ...]  # files with their sizes and times of change

_ROOT = Path(assay.__path__[0])
_STANDARD = [Path(sysconfig.get_path(kind)) for kind in ("stdlib", "platstdlib")]
_PACKAGES = ("site-packages", "dist-packages")  # folders that installers fill


def source_digest(path: Path) -> str:
    """sha256 over the file and the files it rests on, in a fixed order; with the version of what is installed."""
    parts = [hashlib.sha256(part.read_bytes()).digest() for part in source_files(path) if part.is_file()]
    return hashlib.sha256(b"".join(parts) + _version(path).encode()).hexdigest()


def source_state(path: Path) -> State:
    """Changes when ``source_digest`` may have changed, and is quicker to find."""
    return tuple(_state(part) for part in source_files(path))


def source_files(path: Path) -> list[Path]:
    """The file and, after it, the files that it rests on."""
    found: set[Path] = set()
    waiting = [path]
    while waiting:
        for part in _imported(*_state(waiting.pop()), os.getcwd(), *sys.path):
            if part not in found:
                found.add(part)
                waiting.append(part)
    return [path, *sorted(found - {path})]


def _state(path: Path) -> tuple[Path, int, int]:
    with suppress(OSError):
        found = path.stat()
        return path, found.st_size, found.st_mtime_ns
    return path, -1, -1  # deleted since


@lru_cache(maxsize=4096)
def _imported(path: Path, size: int, _changed: int, here: str, *places: str) -> tuple[Path, ...]:
    """The author's files among those that a file imports; read once per state of the file."""
    if size < 0:
        return ()
    try:
        nodes = ast.walk(ast.parse(path.read_bytes()))
    except (SyntaxError, ValueError):  # not Python, or broken: who imports it will hear of it
        return ()
    imports = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    ours = (_ours(name) for node in imports for name in _names(node) if name.startswith("assay."))
    theirs = () if path.is_relative_to(_ROOT) or is_installed(path) else _theirs(path, imports, here, places)
    return tuple(sorted({part for part in (*ours, *theirs) if part is not None}))


def _ours(name: str) -> Path | None:
    found = _ROOT.joinpath(*name.split(".")[1:]).with_suffix(".py")
    return found if found.is_file() and not name.startswith("assay.core") else None


def _theirs(
    path: Path, imports: Iterable[ast.Import | ast.ImportFrom], here: str, places: tuple[str, ...]
) -> Iterator[Path]:
    """Files that imports of somebody else's file may mean, where Python would find them; without installed ones."""
    roots = [Path(os.path.abspath(Path(here, place))) for place in places]
    roots += [_top(path)]  # found by somebody else's means
    yield from _packages(path, roots)
    for node in imports:
        level = node.level if isinstance(node, ast.ImportFrom) else 0
        for name in _names(node):
            within = [path.parents[level - 1]] if level else roots
            found = next((file for root in within if (file := _module_file(root.joinpath(*name.split("."))))), None)
            if found is not None and not is_installed(found):
                yield from (found, *_packages(found, roots))


def _top(path: Path) -> Path:
    """The folder that holds the package that a file is part of, or the module that it is."""
    found = path.parent
    while (found / "__init__.py").is_file():
        found = found.parent
    return found


def _packages(path: Path, roots: list[Path]) -> Iterator[Path]:
    """What runs before a file of a package."""
    for folder in path.parents:
        if folder in roots:
            return
        if (file := folder / "__init__.py").is_file():
            yield file


def _module_file(there: Path) -> Path | None:
    files = (there / "__init__.py", there.with_name(f"{there.name}.py"))
    return next((file for file in files if file.is_file()), None)


def _names(node: ast.Import | ast.ImportFrom) -> list[str]:
    """Modules that an import statement may mean: ``from a.b import c`` is a.b, or a.b.c. Relative ones are told from
    where they begin: ``from .b import c`` is b, or b.c."""
    names = [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        return [node.module, *(f"{node.module}.{name}" for name in names)]
    return names


def is_installed(path: Path) -> bool:
    return any(name in path.parts for name in _PACKAGES) or any(map(path.is_relative_to, _STANDARD))


def _version(path: Path) -> str:
    """Of the distribution that brought a file; empty for a file in nobody's."""
    brought = [index for index, part in enumerate(path.parts) if part in _PACKAGES]
    return _version_of(path.parts[brought[-1] + 1].removesuffix(".py")) if brought else ""


@cache
def _version_of(module: str) -> str:
    with suppress(PackageNotFoundError):
        return version(module)
    names = packages_distributions().get(module, [])
    return " ".join(f"{name} {version(name)}" for name in names)
