"""Code that runs is code that can be read: a file edited after its import would put old results under a new key."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import psutil

from assay.core.agreement import agrees
from assay.core.errors import SpecError

_first: dict[str, tuple[object, bytes]] = {}  # of each module: the import it came from, and its file when first seen
_BEGAN: float = psutil.Process().create_time()  # of this process, or of the one that it was forked from


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
        if not (_same(content, before) if known else _older(path) or agrees(module, content)):
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
    return max(found.st_ctime, found.st_mtime) < _BEGAN - 2


def _same(content: bytes, before: bytes) -> bool:
    """Whether two sources say the same to Python."""
    with suppress(SyntaxError, ValueError):
        return content == before or ast.dump(ast.parse(content)) == ast.dump(ast.parse(before))
    return False
