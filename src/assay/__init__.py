"""assay: test feature-attribution methods, and the metrics that judge them, against known truth."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["AssayError", "NotApplicable", "assert_faithful", "attribute", "environment", "evaluate", "run"]


def __getattr__(name: str) -> Any:
    """Names are resolved when they are first used: ``import assay`` imports no torch."""
    if name in ("AssayError", "NotApplicable"):
        return getattr(import_module("assay.core.errors"), name)
    if name in __all__:
        return getattr(import_module("assay.api"), name)
    raise AttributeError(f"module 'assay' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
