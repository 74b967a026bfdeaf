"""assay: test feature-attribution methods, and the metrics that judge them, against known truth."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = [
    "AgopExplainer",
    "AssayError",
    "NotApplicable",
    "assert_faithful",
    "attribute",
    "environment",
    "evaluate",
    "run",
]


def __getattr__(name: str) -> Any:
    """Import the module of a name on first use, so that ``import assay`` imports no torch."""
    if name in ("AssayError", "NotApplicable"):
        return getattr(import_module("assay.core.errors"), name)
    if name == "AgopExplainer":
        return import_module("assay.serving").AgopExplainer
    if name in __all__:
        return getattr(import_module("assay.api"), name)
    raise AttributeError(f"module 'assay' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
