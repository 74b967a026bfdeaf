"""The digest of a component's source: the code of its own file and of every file of the same author that it imports.

Comments, docstrings and formatting do not count: they change no result, and rewording one recomputes nothing. After a
change of code in ``kit``, ``craft`` or ``train``, earlier results must not be reused. ``core``, ``catalogue`` and
``foreign`` are left out: every component imports them, so each change there would recompute everything. The revisions
contract watches them.

Users' files count if they are on Python's path and not installed. Installed files change with their version only.
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
from typing import NamedTuple

import assay
from assay.catalogue.families import module_of

Import = ast.Import | ast.ImportFrom
Stamp = tuple[tuple[Path, int, int], ...]  # files with their sizes and times of change

_ROOT = Path(assay.__path__[0])
_EXCLUDED = ("assay.core", "assay.catalogue", "assay.foreign")  # imported by every component
_STANDARD = [Path(sysconfig.get_path(kind)) for kind in ("stdlib", "platstdlib")]
_PACKAGES = ("site-packages", "dist-packages")  # folders that installers fill


def source_digest(path: Path) -> str:
    """sha256 over the code of the file and of the files it depends on, in a fixed order, with the version of an
    installed package."""
    parts = [code_digest(file.read_bytes()) for file in source_files(path) if file.is_file()]
    return hashlib.sha256(b"".join(parts) + _version(path).encode()).hexdigest()


def source_stamp(path: Path) -> Stamp:
    """Changes when ``source_digest`` may have changed, and is quicker to compute."""
    stamps = {path: _file_stamp(path)}
    waiting, search_path = [path], (os.getcwd(), *sys.path)
    while waiting:
        for file in _imported(*stamps[waiting.pop()], *search_path):
            if file not in stamps:
                stamps[file] = _file_stamp(file)
                waiting.append(file)
    own_stamp = stamps.pop(path)
    return own_stamp, *sorted(stamps.values())


def source_files(path: Path) -> list[Path]:
    """The file and, after it, the files that it depends on."""
    return [file for file, _, _ in source_stamp(path)]


def _file_stamp(path: Path) -> tuple[Path, int, int]:
    with suppress(OSError):
        status = path.stat()
        return path, status.st_size, status.st_mtime_ns
    return path, -1, -1  # deleted since


@lru_cache(maxsize=4096)
def _imported(path: Path, size: int, _changed: int, folder: str, *search_path: str) -> tuple[Path, ...]:
    """The files of the same author that a file imports; read once per stamp of the file."""
    imports = _code(path.read_bytes()).imports if size >= 0 else []
    names = (name for node in imports for name in module_names(node))
    ours = (our_file(module_of(name)) for name in names if name.startswith("assay.") and not name.startswith(_EXCLUDED))
    foreign = (
        () if path.is_relative_to(_ROOT) or is_installed(path) else _foreign_files(path, imports, folder, search_path)
    )
    return tuple(sorted({file for file in (*ours, *foreign) if file.is_file()}))


def parsed(source: bytes) -> ast.Module | None:
    """None for what is not Python, or broken: importing it will raise the error."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the last two: expressions nested too deeply
        return None


def code_digest(source: bytes) -> bytes:
    """Of the code of one file, without prose and formatting; of its bytes if it is not Python."""
    return _code(source).digest


class _Code(NamedTuple):
    """What is read from one file."""

    digest: bytes
    imports: list[Import]


@lru_cache(maxsize=4096)
def _code(source: bytes) -> _Code:
    """Parsed once, for both."""
    tree, parts, imports = parsed(source), list[str](), list[Import]()
    if tree is None:
        return _Code(hashlib.sha256(source).digest(), imports)
    _write_code(tree, parts, imports)
    return _Code(hashlib.sha256("".join(parts).encode(errors="surrogatepass")).digest(), imports)


def _write_code(value: object, parts: list[str], imports: list[Import]) -> None:
    """A syntax tree as text that is the same in every version of Python, without strings that stand alone, which is
    what docstrings are. ``ast.dump`` and ``ast.unparse`` differ between versions."""
    if isinstance(value, ast.AST):
        if isinstance(value, Import):
            imports.append(value)
        parts.append(f"{type(value).__name__}(")
        for name in value._fields:
            field = getattr(value, name, None)
            if field not in (None, []) and name not in ("kind", "type_comment"):  # unset, or of newer versions
                parts.append(f"{name}=")
                _write_code(field, parts, imports)
        parts.append(")")
    elif isinstance(value, list):
        parts.append("[")
        for item in value:
            if not _is_text(item):
                _write_code(item, parts, imports)
        parts.append("]")
    else:
        parts.append(f"{value!r},")


def _is_text(node: object) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def our_file(module: str) -> Path:
    """The file of a module of this package; there is none of this name if the module is a package."""
    return _ROOT.joinpath(*module.split(".")[1:]).with_suffix(".py")


def _foreign_files(path: Path, imports: Iterable[Import], folder: str, search_path: tuple[str, ...]) -> Iterator[Path]:
    """Files that the imports of a user's file may mean, searched as Python does; without installed ones."""
    roots = [Path(os.path.abspath(Path(folder, entry))) for entry in search_path]
    roots += [_import_root(path)]  # for a file that was imported from outside the search path
    yield from _package_files(path, roots)
    for node in imports:
        level = node.level if isinstance(node, ast.ImportFrom) else 0
        for name in module_names(node):
            folders = [path.parents[level - 1]] if level else roots
            target = next((file for root in folders if (file := _module_file(root.joinpath(*name.split("."))))), None)
            if target is not None and not is_installed(target):
                yield from (target, *_package_files(target, roots))


def _import_root(path: Path) -> Path:
    """The folder that holds the outermost package of a file, or the file itself."""
    folder = path.parent
    while (folder / "__init__.py").is_file():
        folder = folder.parent
    return folder


def _package_files(path: Path, roots: list[Path]) -> Iterator[Path]:
    """The ``__init__.py`` files that run before a file of a package."""
    for folder in path.parents:
        if folder in roots:
            return
        if (file := folder / "__init__.py").is_file():
            yield file


def _module_file(module: Path) -> Path | None:
    files = (module / "__init__.py", module.with_name(f"{module.name}.py"))
    return next((file for file in files if file.is_file()), None)


def module_names(node: Import) -> list[str]:
    """Modules that an import statement may mean: ``from a.b import c`` is a.b, or a.b.c. Relative names are relative to
    their starting folder: ``from .b import c`` is b, or b.c."""
    names = [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        return [node.module, *(f"{node.module}.{name}" for name in names)]
    return names


def is_installed(path: Path) -> bool:
    return any(name in path.parts for name in _PACKAGES) or any(map(path.is_relative_to, _STANDARD))


def _version(path: Path) -> str:
    """The version of the distribution that installed a file; empty for a file that is not installed."""
    positions = [index for index, part in enumerate(path.parts) if part in _PACKAGES]
    return _version_of(path.parts[positions[-1] + 1].removesuffix(".py")) if positions else ""


@cache
def _version_of(module: str) -> str:
    with suppress(PackageNotFoundError):
        return version(module)
    names = packages_distributions().get(module, [])
    return " ".join(f"{name} {version(name)}" for name in names)
