"""Importing ``module:attr``: a user's or another package's code."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from assay.core.errors import SpecError, suggest

_TARGET = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


_allowed: ContextVar[bool] = ContextVar("allowed", default=True)


@contextmanager
def without_imports() -> Iterator[None]:
    """A context in which components ``module:attr`` are not imported: their cards are empty."""
    token = _allowed.set(False)
    try:
        yield
    finally:
        _allowed.reset(token)


def imports_allowed() -> bool:
    return _allowed.get()


def is_target(value: object) -> bool:
    """Whether a text is written as ``module:attr``."""
    return isinstance(value, str) and _TARGET.fullmatch(value) is not None


def load(target: str) -> Any:
    """Import ``module:attr``; SpecError says why that is not possible."""
    name, _, attr = target.partition(":")
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise SpecError(f"cannot import '{name}' of '{target}': there is no such module on the path.") from None
        raise SpecError(f"cannot import '{name}' of '{target}': it needs '{error.name}', which is missing.") from error
    except (Exception, SystemExit) as error:
        raise SpecError(f"cannot import '{name}' of '{target}': {type(error).__name__}: {error}") from error
    if not hasattr(module, attr):
        raise SpecError(f"module '{name}' has no '{attr}'.{suggest(attr, dir(module))}")
    return getattr(module, attr)


def source_path(module: str, target: str) -> Path:
    """The source file of a module; SpecError if there is none."""
    try:
        module_spec = importlib.util.find_spec(module)
    except (ModuleNotFoundError, ValueError, ImportError):
        module_spec = None
    except Exception as error:
        raise SpecError(f"cannot import '{module}' of '{target}': {type(error).__name__}: {error}") from error
    if module == "__main__":
        raise SpecError(f"'{target}' is in the running script: move it to a module that other processes can import.")
    if module_spec is None and module not in sys.modules:
        raise SpecError(f"cannot find module '{module}' of '{target}'. Run in its folder, or install it.")
    if module_spec is None or module_spec.origin is None or not Path(module_spec.origin).is_file():
        raise SpecError(
            f"module '{module}' of '{target}' has no source file on disk, which is needed to notice changes of it."
        )
    return Path(module_spec.origin)
